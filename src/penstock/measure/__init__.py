"""What was measured: Observations, and what they are made from.

`task` measures inside a Python worker; `batch` puts the reports of a micro-batch together in the driver.  The result
is one frozen `Observation` per micro-batch, which control, journal and console read.

May import `operators` and the rooms below it.  Begin with `observation.py`, then `task/task_meters.py`.
"""
