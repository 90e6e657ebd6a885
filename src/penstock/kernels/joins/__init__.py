"""The window join: merged tuples in, pairs of stored rows with equal keys out.

May import what `kernels` may.  Begin with `window_join.py`.
"""
