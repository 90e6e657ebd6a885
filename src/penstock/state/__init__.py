"""Keyed state in slots: shared by the workers of a host, logged in the checkpoint, rebuilt to a batch.

A slot is the unit that moves between replicas.  A token says which attempt of which batch wrote it last; a log counts
only if a manifest names it.

May import `plan` and the rooms below it.  Begin with `slots/slot_functions.py`, then `rows/row_store.py` and
`checkpoint/checkpoint.py`.
"""
