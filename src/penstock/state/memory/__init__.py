"""State in memory-mapped files that all workers of a host share, with a lock per slot.

May import what `state` may.  Begin with `host_memory.py`.
"""
