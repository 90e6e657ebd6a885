"""Slots on their way to other hosts: copies, tuples that wait for them, and copies nobody serves.

May import what `runtime` may.  Begin with `migration.py`, which decides what is in force; then `copier.py`.
"""
