"""Profiles on Spark: an application is driven at several rates, and what its operators cost is learned.

May import what `spark` may.  Begin with `profile.py`.
"""
