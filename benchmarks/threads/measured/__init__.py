"""The rows of the thread benchmarks that are measured on this machine.

May import all of penstock.  Begin with `real_rows.py`, then `real_element.py` and `engine_cases.py`.
"""
