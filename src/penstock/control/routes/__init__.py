"""Routes: slots dealt out to replicas by measured load, and what to do about hot keys.

May import what `control` may.  Begin with `routing.py`, then `rebalance.py`.
"""
