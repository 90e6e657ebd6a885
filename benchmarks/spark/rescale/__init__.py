"""`rescale`: from 2 to 4 replicas under load, by a Configuration and by Spark's own way.

May import all of penstock.  Begin with `rescale.py`.
"""
