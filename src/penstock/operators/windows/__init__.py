"""Operators over windows: aggregate, join, sort, barrier.

May import what `operators` may.  Begin with `aggregate.py`; `stored_aggregate.py` keeps its state in
slots.
"""
