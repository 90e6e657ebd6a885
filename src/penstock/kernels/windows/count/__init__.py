"""Count windows: a kernel generated per shape, all aggregates in one pass over a block.

May import what `kernels` may.  Begin with `count_window.py`, then `shape.py` and `source.py`.
"""
