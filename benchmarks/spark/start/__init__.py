"""`start`: from a new process to the first result, beside plain PySpark with one Python stage.

May import all of penstock.  Begin with `start.py`.
"""
