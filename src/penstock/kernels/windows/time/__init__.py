"""Time windows: a kernel generated per shape, over panes of running values.

May import what `kernels` may.  Begin with `time_window.py`, then `source.py`.
"""
