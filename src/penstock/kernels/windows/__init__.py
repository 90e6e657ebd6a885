"""Windows: aggregates, windows that hold rows, and kernels for count and time windows.

May import what `kernels` may.  Begin with `aggregates.py`; `held_rows.py` does every kind of window, the sub-folders
the common ones fast.
"""
