"""Executors and their Python workers: the body of a task, pinning to hosts, jobs that copy slots.

May import what `spark` may.  Begin with `worker.py`, then `placer.py`.
"""
