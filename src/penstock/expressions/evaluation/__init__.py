"""Expressions over columns: vectorised evaluation, and functors compiled into one loop.

May import what `expressions` may.  Begin with `evaluate.py`; `compiled_functor.py` chooses between both ways,
`source.py` writes the loop.
"""
