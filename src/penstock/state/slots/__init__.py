"""Key to slot: hashes that are the same on every host, ranges, grids.

May import what `state` may.  Begin with `slot_functions.py`.
"""
