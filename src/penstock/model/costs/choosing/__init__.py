"""Which operators to fuse, on how many replicas, on which nodes: the least CPU that sustains a rate.

May import what `model` may.  Begin with `choice.py`.
"""
