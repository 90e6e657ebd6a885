"""A run as its checkpoint tells it, live or afterwards: read leniently, from journal, events and levels alone.

Whatever a file has, reading it raises nothing: lines that are no lines of a journal are counted and left out.

May import what `watch` may.  Begin with `run_reader.py`, then `run_state.py` and `facts.py`.
"""
