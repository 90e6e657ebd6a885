"""What arrives at sources: when a tuple came, and what waits to be taken.

May import what `connectors` may.  Begin with `arrival.py`, then `backlogs.py`.
"""
