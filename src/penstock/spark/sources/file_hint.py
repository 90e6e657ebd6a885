"""A hint for DataFrames that only read files: the source for such files reads them without Spark's rows between."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame

_FASTER = ("csv", "parquet")


def file_hint(frame: DataFrame, source: str) -> str | None:
    """What to take instead of a DataFrame that is a folder of files and nothing else."""
    try:
        plan = frame._jdf.queryExecution().analyzed()
        if plan.getClass().getSimpleName() != "StreamingRelation":
            return None
        described, provider = str(plan.sourceName()), str(plan.dataSource().className()).lower()
    except Exception:  # a DataFrame of another kind, or of another version of Spark, has none
        return None
    path = re.fullmatch(r"FileSource\[(.*)\]", described)
    kind = next((kind for kind in _FASTER if kind in provider), None)
    if path is None or kind is None:
        return None
    return (
        f"source '{source}' is a DataFrame over files and nothing else; ps.sources.{kind}('{path[1]}') reads them "
        "several times faster"
    )
