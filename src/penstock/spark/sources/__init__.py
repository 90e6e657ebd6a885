"""All sources of an application as one streaming DataFrame of rows for its first element.

May import what `spark` may.  Begin with `source_frames.py`, then `driver_stream.py`.
"""
