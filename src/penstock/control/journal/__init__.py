"""The journal of a run: one JSON line per micro-batch and decision, which can be read and replayed later.

May import what `control` may.  Begin with `journal.py`, then `replay.py`.
"""
