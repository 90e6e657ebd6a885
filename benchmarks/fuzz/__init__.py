"""Benchmark `fuzz`: malformed rows, files, SPADE programs, options, journals and checkpoints.

Each input ends in a right result or in one clear sentence; tracebacks, wrong results and hangs are counted and kept.
May import every room of penstock.  Begin with `fuzz.py`; `kind.py` has what a kind of input is, and each kind is a
module of its own.
"""
