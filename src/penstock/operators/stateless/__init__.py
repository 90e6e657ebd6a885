"""Operators that keep little or nothing: functor, split, union, punctor, delay, throttle, sink, load.

`merging.py` puts the blocks of several inputs into one order, for every operator that has them.  May import what
`operators` may.  Begin with `functor.py`.
"""
