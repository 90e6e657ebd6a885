"""Benchmark `soak`: an application at work for an hour; whether memory, disk or latency grow.

Windows, a join, state of the user's own and a change of the Configuration every minute, over a bounded set of keys.
May import every room of penstock.  Begin with `soak.py`; `soak_scene.py` has the application, `usage.py` reads what
its processes and folders take, `soak_report.py` makes the figures.
"""
