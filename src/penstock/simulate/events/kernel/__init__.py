"""The event loop in numba: one stack of steps within an event, records in flat arrays, no Python objects.

May import what `simulate` may.  Begin with `loop.py`, then `todo.py`.
"""
