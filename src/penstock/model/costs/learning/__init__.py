"""From micro-batches that were measured to a Profile, and whether a Profile still holds.

May import what `model` may.  Begin with `samples.py`, then `learned_profile.py`.
"""
