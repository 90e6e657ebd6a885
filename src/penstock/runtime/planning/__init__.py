"""Micro-batches of sources behind the port: where they end, and which task reads what.

May import what `runtime` may.  Begin with `source_planner.py`.
"""
