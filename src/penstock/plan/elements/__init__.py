"""The elements of a graph: which operators are fused, what their state goes by, where order matters.

May import what `plan` may.  Begin with `pipeline.py` (micro-batches) and `fusion.py` (what users request).
"""
