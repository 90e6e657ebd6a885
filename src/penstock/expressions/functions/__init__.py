"""The catalogue: every function and aggregate that expressions can call, with types and an example.

docs/expressions.md is written from it.  May import what `expressions` may.  Begin with `function.py`, then
`catalogue.py`.
"""
