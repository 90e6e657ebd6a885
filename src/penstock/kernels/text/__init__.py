"""Scalar functions of expressions: numbers, strings, lists and the calendar.

May import what `kernels` may.  Begin with `scalars.py`.
"""
