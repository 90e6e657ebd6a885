"""Benchmarks of threads inside an element: `threads`, `elastic-operator`, `external-load`, `multilevel`.

May import all of penstock.  Begin with `command.py` and `threads_command.py`; simulated rows come from
`penstock.simulate`.
"""
