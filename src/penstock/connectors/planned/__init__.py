"""Sources that are read by plan: the driver cuts what has come into splits, tasks read them.

May import what `connectors` may.  Begin with `source_port.py`.
"""
