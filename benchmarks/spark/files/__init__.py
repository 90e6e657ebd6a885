"""Benchmark `files`: vwap_per_ticker from Parquet and CSV files and from a streaming DataFrame over the same files.

May import all of penstock.  Begin with `files.py`; `file_sets.py` writes the files, `files_report.py` is the report.
"""
