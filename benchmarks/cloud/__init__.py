"""CLOUD's Figures 2 to 4 on the twin: schedules, scopes of bin-packing, and the search for partitions.

May import all of penstock.  Begin with `cloud.py`.
"""
