"""From a graph to what runs: order, fused elements, parallelism, placement, and the Configuration.

Immutable values and pure functions; nothing runs here.  A `Configuration` has everything that can be changed while an
application runs.

May import `spade`, `app` and the rooms below it.  Begin with `configuration.py`, then `elements/pipeline.py`.
"""
