"""Benchmark `kafka`: `vwap_per_ticker` from a topic, beside a bare consumer, stock PySpark and quix-streams.

May import all of penstock.  Begin with `kafka.py`.
"""
