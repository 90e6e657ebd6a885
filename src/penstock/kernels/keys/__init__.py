"""Keys become dense ids, on which all keyed state is indexed; hashes of keys and of whole tuples.

May import what `kernels` may.  Begin with `key_ids.py`.
"""
