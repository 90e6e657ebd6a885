"""Policies that others use, behind the same port as MPC: one per file.

May import what `control` may.  Begin with `thresholds.py`, the shortest, then `ds2.py`.
"""
