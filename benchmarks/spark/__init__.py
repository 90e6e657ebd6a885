"""Benchmarks of micro-batches on Spark: throughput, floor, state, threads, the cost of control.

May import all of penstock.  Begin with `floor.py`; `watching.py` and `measured_run.py` are shared.
"""
