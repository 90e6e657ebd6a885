"""Models of machines: an element on many cores, and a queue in micro-batches, behind the real ports.

Policies run on them unchanged, in simulated time.  `element_plant.py` is an `ElementPort`, `queue_plant.py` a `Plant`.

May import `watch` and the rooms below it, not `spark`.  Begin with `queue_plant.py`.
"""
