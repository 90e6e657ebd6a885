"""`kernels`: operators and kernels beside the loop that is their limit, and beside polars and DuckDB.

May import all of penstock.  Begin with `job.py` and `measurement.py`.
"""
