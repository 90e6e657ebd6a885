"""The parts of `saso` that run on Spark: comparisons of policies, and two situations live.

May import all of penstock.  Begin with `comparisons.py`, then `run.py`.
"""
