"""Profiles without Spark: the application as it is profiled, the rates to run it at, when the fits are good enough.

May import what `runtime` may.  Begin with `profiled_graph.py`, then `rate_plan.py`.
"""
