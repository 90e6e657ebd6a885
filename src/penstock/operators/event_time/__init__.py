"""Keyed event-time operators: each replica has its keys, and a broadcast watermark of the whole stream.

May import what `operators` may.  Begin with `keyed_event_time.py` and `watermark_broadcast.py`;
`partial_aggregates.py` splits hot keys.
"""
