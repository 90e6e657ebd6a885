"""Control of a running query: the controller's thread, the query as a plant, executors, frequencies.

Spark stands behind small protocols here, so nothing imports it.  May import what `control` may.  Begin with
`controller.py`, then `micro_batch_plant.py`.
"""
