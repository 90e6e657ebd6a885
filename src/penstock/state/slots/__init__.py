"""Key to slot: by hash, ranges, grids.

May import what `state` may.  Begin with `slot_functions.py`.
"""
