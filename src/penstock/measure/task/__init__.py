"""Meters inside a task: tuples, CPU of some calls, service times, tuples by slot, triggers of results.

Timing stays within a small share of the work.  May import what `measure` may.  Begin with `task_meters.py`.
"""
