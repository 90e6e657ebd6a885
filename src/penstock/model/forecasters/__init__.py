"""Online forecasters of a rate: one per file, all with the same two functions.

May import what `model` may.  Begin with `protocol.py`; `mixture.py` is the default.
"""
