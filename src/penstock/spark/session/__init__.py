"""The Spark session: settings, logs, pickled functions, and one sentence for each failure.

May import what `spark` may.  Begin with `session.py`, then `failures.py`.
"""
