"""Files as sources and sinks: reading, writing whole files, growing directories, staged Parquet files.

May import what `connectors` may.  Begin with `readers.py` and `writers.py`; `staged_file.py` has the files of a sink
on Spark.
"""
