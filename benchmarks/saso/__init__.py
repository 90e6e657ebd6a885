"""`saso`: all policies under all loads on the twin, each rival as published and at its best.

May import all of penstock.  Begin with `saso.py`; `scenarios.py` has the situations that break autoscalers.
"""
