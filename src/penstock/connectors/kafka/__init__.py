"""Kafka as a source: the driver plans ranges of offsets, tasks read and decode them.

May import what `connectors` may; confluent-kafka and fastavro are imported where they are used.  Begin with
`source.py`, then `places.py` and `range_reader.py`.
"""
