"""A hint for DataFrames from Kafka: Spark's connector also reads aborted messages, unless an option says otherwise."""

from __future__ import annotations

from pyspark.sql import DataFrame

_OPTION, _COMMITTED = "kafka.isolation.level", "read_committed"


def kafka_hint(frame: DataFrame, source: str) -> str | None:
    """What to set where a DataFrame reads a topic with messages of transactions that were never committed."""
    try:
        leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
        read = [leaves.apply(number) for number in range(leaves.size())]
        own = [leaf for leaf in read if leaf.getClass().getSimpleName() == "StreamingRelationV2"]
        levels = [leaf.extraOptions().get(_OPTION) for leaf in own if leaf.sourceName() == "kafka"]
    except Exception:  # a DataFrame of another kind, or of another version of Spark, has none
        return None
    if all(level == _COMMITTED for level in levels):
        return None
    return (
        f"source '{source}' is a DataFrame from Kafka that also reads messages of transactions which were aborted; set "
        f".option('{_OPTION}', '{_COMMITTED}'), or take ps.sources.kafka, which reads committed messages alone"
    )
