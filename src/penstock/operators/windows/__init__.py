"""Operators over windows: aggregate, join, sort, barrier.

May import what `operators` may.  Begin with `aggregate.py`; `aggregate_plan.py` chooses the kernel,
`stored_aggregate.py` keeps its state in slots.
"""
