"""`measuring`: the overhead of measurement in tasks and in the driver, as a share of CPU.

May import all of penstock.  Begin with `measuring.py`.
"""
