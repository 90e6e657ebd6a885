"""Micro-batches in simulated time: stages of tasks on nodes, with Spark's fixed costs, behind the port of a plant.

`plant.py` is the `Plant` (public: `penstock.twin.Plant`), `batches.py` runs one micro-batch after the other,
`placing.py` places tasks on cores.  What a micro-batch gives is an `Observation`, as on Spark, and control steps are
made of them by the same code.

May import what `simulate` may.  It stands on `events`.  Begin with `batches.py`.
"""
