"""One Spark source for all sources of an application that are known by offsets: partitions are ranges of offsets."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from penstock.app.graph import Graph
from penstock.block.position import EVERYTHING, Frontier
from penstock.connectors.offsets import offset_source
from penstock.connectors.port import OffsetSource
from penstock.plan.elements.order import streams_with_positions
from penstock.plan.elements.pipeline import needs_intake
from penstock.runtime.replica.message import pack_frontier
from penstock.runtime.replica.source_rows import SCHEMA, SQL
from penstock.state.checkpoint.checkpoint import Checkpoint

NAME = "penstock_offsets"
BEAT = "#beat"  # raised to have a micro-batch although no tuples came
Offsets = dict[str, int]


@dataclass
class Range(InputPartition):
    """Offsets start..stop of a source, in blocks."""

    source: str
    start: int
    stop: int
    block_rows: int
    frontier: bytes | None


class Cuts:
    """Where a micro-batch may end: at what has arrived, at the cap, and for merged sources at one place in the order.

    The answer depends on the offsets, the time and the settings alone.
    """

    def __init__(self, graph: Graph) -> None:
        merged = streams_with_positions(graph)
        self.sources: dict[str, OffsetSource] = {}
        self.places: dict[str, int] = {}
        for place, source in enumerate(graph.sources):
            own = offset_source(source, place)
            if own is not None:
                self.sources[source.name], self.places[source.name] = own, place
        # with an intake, stamps are known only from tuples, and it is the intake that puts them in order
        self.merged = [] if needs_intake(graph) else [name for name in self.sources if name in merged]

    def ends(self, begin: Mapping[str, int], time_s: float, cap_tuples: int) -> Offsets:
        share = max(1, cap_tuples // max(1, len(self.sources)))
        ends = {name: self._end(name, begin[name], time_s, share) for name in self.sources}
        safe = {name: self._safe(name, ends) for name in self.merged} if len(self.merged) > 1 else {}
        return {name: max(begin[name], safe.get(name, end)) for name, end in ends.items()}

    def frontier(self, ends: Mapping[str, int]) -> Frontier | None:
        """The last position up to some offsets; None where no sources are merged or none has begun."""
        if self.merged and all(ends[name] == self.sources[name].total for name in self.merged):
            return EVERYTHING
        last = [
            Frontier(self.sources[name].stamp(ends[name] - 1), self.places[name], ends[name] - 1)
            for name in self.merged
            if ends[name]
        ]
        return max(last) if last else None

    def _end(self, name: str, begin: int, time_s: float, share: int) -> int:
        source = self.sources[name]
        bounds = (begin + share, source.arrived_by(time_s), source.total)
        return max(begin, min(bound for bound in bounds if bound is not None))

    def _safe(self, name: str, ends: Mapping[str, int]) -> int:
        """How many tuples of a source come before anything that another source delivers after this batch."""
        safe = ends[name]
        for other in self.merged:
            if other != name:
                reach = self._reach(other, ends[other])
                inclusive = self.places[name] < self.places[other]
                safe = min(safe, self.sources[name].count(reach, inclusive=inclusive))
        return safe

    def _reach(self, name: str, end: int) -> float:
        """No later tuple of a source stands before this stamp."""
        source = self.sources[name]
        if source.total is not None and end == source.total:
            return np.inf
        return source.stamp(end - 1) if end else -np.inf


class OffsetReader(DataSourceStreamReader):
    """Offsets follow the schedule of arrivals from the moment the checkpoint was made, at most a cap in one batch."""

    def __init__(self, options: dict[str, str]) -> None:
        self.checkpoint = Checkpoint(options["checkpoint"])
        self.fixed = self.checkpoint.fixed()
        self.cuts = Cuts(self.fixed.graph)

    def initialOffset(self) -> Offsets:
        return {**dict.fromkeys(self.cuts.sources, 0), BEAT: 0}

    def latestOffset(self, start: Offsets, limit: object) -> Offsets:
        settings = self._settings()
        ends = self.cuts.ends(start, time.time() - self.fixed.started_at_s, settings["micro_batch_tuples"])
        return {**ends, BEAT: max(start[BEAT], settings["beat"])}

    def partitions(self, start: Offsets, end: Offsets) -> list[InputPartition]:
        settings = self._settings()
        frontier = self.cuts.frontier(end)
        packed = None if frontier is None else pack_frontier(frontier)
        wanted = {name: end[name] - start[name] for name in self.cuts.sources if end[name] > start[name]}
        total, ranges = sum(wanted.values()), list[InputPartition]()
        for name, tuples in wanted.items():
            tasks = max(1, round(settings["tasks"] * tuples / total))
            edges = _edges(start[name], end[name], settings["block_rows"], tasks)
            ranges += [Range(name, a, b, settings["block_rows"], packed) for a, b in itertools.pairwise(edges)]
        return ranges or [Range("", 0, 0, 1, None)]  # a beat: a task that sends on what waited

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        starts = list(range(partition.start, partition.stop, partition.block_rows))
        rows = [
            {"source": partition.source, "start": start, "stop": min(start + partition.block_rows, partition.stop),
             "payload": None, "frontier": partition.frontier}
            for start in starts
        ]  # fmt: skip
        yield pa.RecordBatch.from_pylist(rows, SCHEMA)

    def commit(self, end: Offsets) -> None:
        pass

    def _settings(self) -> dict[str, int]:
        """What the driver wants of the next batch; it writes the file whenever the configuration changes."""
        settings: dict[str, int] = json.loads(Path(self.checkpoint.directory, "intake").read_bytes())
        return settings


class OffsetDataSource(DataSource):
    """The data source that Spark calls by name."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SQL

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        return OffsetReader(dict(self.options))


def _edges(first: int, last: int, block: int, tasks: int) -> list[int]:
    """The bounds of about equal ranges of whole blocks."""
    blocks = -(-(last - first) // block)
    tasks = max(1, min(tasks, blocks))
    return [min(first + block * (blocks * i // tasks), last) for i in range(tasks + 1)]
