"""The Observation of a micro-batch, in the driver: reports, arrivals, backlog, CPU.

May import what `measure` may.  Begin with `measured_batch.py`, then `batch_figures.py`.
"""
