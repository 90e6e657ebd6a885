"""How a Parquet sink lays out its files: folders by date or attribute, many micro-batches in one file.

May import what `connectors` may.  Begin with `partitions.py`, then `staged_partitions.py` and `compaction.py`.
"""
