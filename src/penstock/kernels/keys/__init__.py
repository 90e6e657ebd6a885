"""Keys become dense ids, on which all keyed state is indexed.

May import what `kernels` may.  Begin with `key_ids.py`.
"""
