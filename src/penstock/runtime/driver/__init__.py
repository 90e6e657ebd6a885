"""What the driver does about a run that needs no Spark: dead letters, sink folders, first Configuration.

May import what `runtime` may.  Begin with `first_configuration.py` and `source_control.py`.
"""
