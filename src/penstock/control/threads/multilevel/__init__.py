"""MULTILEVEL: which operators get a queue and how many threads there are, chosen together.

May import what `control` may.  Begin with `policy.py`; `piece_search.py` is our queue placement, `group_search.py`
the paper's.
"""
