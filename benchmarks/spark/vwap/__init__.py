"""`vwap`: our engine on Spark, the in-process engine and stock PySpark at one computation.

May import all of penstock.  Begin with `vwap.py`; the `stock` modules are the peers.
"""
