"""The twin's event-driven simulator: graphs of operators on nodes, one numba loop over plain arrays.

`model.py` has what users write, `machines.py` turns nodes and a schedule into cores and pools, `layout.py` lays all of
it out in arrays, `kernel` is the simulation itself, `results.py` what it gives.  The slow, obvious version is
tests/reference/twin.py.

May import what `simulate` may.  Begin with `model.py`, then `simulation.py`.
"""
