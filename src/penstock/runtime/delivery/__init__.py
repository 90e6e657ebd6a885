"""What the driver does for sinks: claims and sweeps their targets, stages what must be in order, publishes parts.

May import what `runtime` may.  Begin with `sink_delivery.py`.
"""
