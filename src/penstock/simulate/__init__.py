"""Models of machines: an element on many cores, and graphs on unequal nodes, behind the real ports; the twin.

Policies run on them unchanged, in simulated time.  `element_plant.py` is an `ElementPort`; the folder `micro_batch` has
a `Plant` of whole applications in micro-batches, `events` the event-driven simulator of graphs in continuous mode (both
public: `penstock.twin`).

May import `watch` and the rooms below it, not `spark`.  Begin with `micro_batch/plant.py`.
"""
