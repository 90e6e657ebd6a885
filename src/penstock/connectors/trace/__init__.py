"""The replayable trace: generated or recorded tuples by offset, and the moment at which each arrives.

Offset n gives the same tuple in every process and run.  May import what `connectors` may.  Begin with `source.py`
(the settings) and `trace.py` (tuples and arrivals).
"""
