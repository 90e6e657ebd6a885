"""The trace source in Spark: offsets by the trace's clock, and partitions that are just ranges of offsets."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from penstock.generate.trace import Trace
from penstock.spark.checkpoint import Checkpoint

NAME = "penstock_trace"
SCHEMA = "source string, start long, stop long"


@dataclass
class Range(InputPartition):
    """Offsets start..stop of a trace, in blocks."""

    source: str
    start: int
    stop: int
    block_rows: int


class TraceReader(DataSourceStreamReader):
    """Offsets follow the schedule of arrivals from the moment the checkpoint was made, at most a cap in one batch."""

    def __init__(self, options: dict[str, str]) -> None:
        self.checkpoint, self.source = Checkpoint(options["checkpoint"]), options["source"]
        self.fixed = self.checkpoint.fixed()
        connector = self.fixed.graph.operator(self.source).connector  # type: ignore[union-attr]
        self.trace: Trace = connector.open()  # type: ignore[union-attr]

    def initialOffset(self) -> dict[str, int]:
        return {"offset": 0}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:
        begin = start["offset"]
        end = begin + self._settings()["micro_batch_tuples"]
        arrived = self.trace.arrived_by(time.time() - self.fixed.started_at_s)
        if arrived is not None:
            end = min(end, int(arrived))
        if self.trace.total is not None:
            end = min(end, self.trace.total)
        return {"offset": max(begin, end)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        settings = self._settings()
        first, last, block = start["offset"], end["offset"], settings["block_rows"]
        blocks = -(-(last - first) // block)
        tasks = max(1, min(settings["tasks"], blocks))
        edges = [min(first + block * (blocks * i // tasks), last) for i in range(tasks + 1)]
        return [Range(self.source, a, b, block) for a, b in itertools.pairwise(edges) if b > a]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        starts = list(range(partition.start, partition.stop, partition.block_rows))
        stops = [min(start + partition.block_rows, partition.stop) for start in starts]
        sources = pa.array([partition.source] * len(starts), pa.string())
        yield pa.RecordBatch.from_arrays(
            [sources, pa.array(starts, pa.int64()), pa.array(stops, pa.int64())], names=["source", "start", "stop"]
        )

    def commit(self, end: dict[str, int]) -> None:
        pass

    def _settings(self) -> dict[str, int]:
        """What the driver wants of the next batch; it writes the file whenever the configuration changes."""
        settings: dict[str, int] = json.loads(Path(self.checkpoint.directory, "intake").read_bytes())
        return settings


class TraceDataSource(DataSource):
    """The data source that Spark calls by name."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        return TraceReader(dict(self.options))
