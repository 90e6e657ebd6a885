"""A query's driver: start, micro-batches, Observations, sinks, control, the handle.

May import what `spark` may.  Begin with `start.py`, `handle.py` and `micro_batch.py`; `control_setup.py` puts control
together.
"""
