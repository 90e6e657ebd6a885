"""Which host a replica prefers, so that few slots ever move.

May import what `plan` may.  Begin with `placement.py`.
"""
