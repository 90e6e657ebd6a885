"""The ways in and out: files, traces, DataFrames, functions, memory, console.

Each kind of source and sink is a frozen value in a module of its own.  `port.py` has the protocols that engines read
them by, `kinds.py` lists them all.  Rows that do not fit their schema become dead letters, one by one.

May import `expressions` and the rooms below it; it imports no pyspark.  Begin with `port.py`, then `csv.py`.
"""
