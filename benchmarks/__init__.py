"""Benchmarks: Penstock beside the limit of the machine and beside peers, in one process and run.

`python -m benchmarks` lists them, `python -m benchmarks NAME` runs one.  Each prints a table, states machine, versions
and seed, and ends with one JSON object.

May import every room of penstock, which does not know this package.  Begin with `__main__.py`, which has all commands
and their options; `machine.py`, `report.py` and `pictures.py` are shared.
"""
