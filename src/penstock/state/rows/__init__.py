"""State as rows by key, and as one object per slot: opened, changed, logged, copied, rebuilt.

May import what `state` may.  Begin with `row_store.py`; `stored_count_window.py` is its main user, `blob_store.py`
keeps objects.
"""
