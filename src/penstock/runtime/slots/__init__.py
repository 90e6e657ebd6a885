"""Into how many slots the state of an operator is cut, and by what; which slots may be split.

It asks `operators`, so it is not in `state`.  May import what `runtime` may.  Begin with `state_slots.py`.
"""
