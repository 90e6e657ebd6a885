"""Operators that go by a watermark: tuples wait until it has passed them, and come to the windows in event-time order.

May import what `operators` may.  Begin with `source_ticks.py`, then `watermark_clock.py` and `event_time_buffer.py`.
"""
