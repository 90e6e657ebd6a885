"""Bare Spark in the shape of an application with one exchange: what its micro-batches cost without Penstock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.report import Show
from penstock.errors import InputError

_SCHEMA = "replica long, value long"


def bare_batches_ms(session: Any, tuples: int, warm: int, count: int, folder: Path, show: Show) -> list[float]:
    """Milliseconds of micro-batches of Spark's own source, `mapInArrow`, exchange, `mapInArrow`, rows to the driver."""
    rows = session.readStream.format("rate-micro-batch")
    rows = rows.option("rowsPerBatch", tuples).option("numPartitions", 2).load()
    query = rows.writeStream.foreachBatch(_run).option("checkpointLocation", str(folder)).start()
    try:
        return _measured(query, warm, count, show)
    finally:
        query.stop()


def _run(frame: DataFrame, batch: int) -> None:
    dealt = frame.mapInArrow(_dealt, _SCHEMA).repartitionById(2, F.col("replica").cast("int"))
    dealt.mapInArrow(_unchanged, _SCHEMA).toArrow()


def _measured(query: Any, warm: int, count: int, show: Show, limit_s: float = 300.0) -> list[float]:
    deadline_s, found = time.monotonic() + limit_s, dict[int, float]()
    while len(found) < count:
        if time.monotonic() > deadline_s or not query.isActive:
            raise InputError(f"bare Spark: {len(found)} of {count} micro-batches in {limit_s:.0f} s")
        show(f"bare Spark: {len(found)} of {count} micro-batches")
        reports = [p for p in query.recentProgress if p.batchId >= warm and p.numInputRows]
        found |= {p.batchId: float(p.durationMs["triggerExecution"]) for p in reports}
        time.sleep(0.2)
    return list(found.values())[:count]


def _dealt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        value = batch.column("value")
        replica = pa.array([v % 2 for v in value.to_pylist()], pa.int64())
        yield pa.RecordBatch.from_arrays([replica, value], ["replica", "value"])


def _unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
