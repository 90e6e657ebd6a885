"""`penstock demo`, and the applications that it, the examples and the benchmarks share.

`vwap.py` and `trading.py` build the applications.  The other modules are the demonstration: service, check,
report.  May import every room.  Begin with `command.py`.
"""
