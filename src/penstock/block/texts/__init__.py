"""Rows as JSON text, as dead letters show them.

May import what `block` may.  Begin with `row_texts.py`; `json_rows.py` is the loop for many rows.
"""
