"""Sources in the driver: how far a micro-batch goes, which task takes what; made-up tuples for a warm-up, stand-ins.

May import what `runtime` may.  Begin with `offset_reader.py`.
"""
