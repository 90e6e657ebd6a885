"""Rules that hold for every policy: the guard, limits of replicas, the cap of micro-batches.

Pure functions of a decision.  May import what `control` may.  Begin with `guard.py`.
"""
