"""Benchmark `operators`: what else users do on Spark, a row each, beside stock PySpark and the in-process engine.

May import all of penstock, and `stock_ways.py` pyspark.  Begin with `operator_jobs.py`; `operator_cases.py` has the
jobs, `operator_files.py` writes the files, `fed_engine.py` is the in-process engine, `operators_report.py` the report.
"""
