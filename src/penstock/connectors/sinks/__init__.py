"""The port of all sinks, what it is given, parts staged as Arrow files, and the sinks that write to other systems.

A sink gets a batch's tuples as parts, staged by replicas or by the driver; the batch's manifest names them; then the
driver publishes them.  May import what `connectors` may.  Begin with `sink_port.py`, then `json_lines.py`.
"""
