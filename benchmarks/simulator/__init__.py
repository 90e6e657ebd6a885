"""How fast the twin's simulator is: events per second of one core, beside plain event lists in Python.

May import all of penstock.  Begin with `simulator.py`.
"""
