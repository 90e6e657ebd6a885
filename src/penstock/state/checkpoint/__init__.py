"""The checkpoint directory: plans, logs, manifests, ledgers, the lease of its one driver.

May import what `state` may.  Begin with `checkpoint.py`, then `manifests.py`.
"""
