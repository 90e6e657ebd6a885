"""One Spark source for all planned sources of an application: partitions are ranges of offsets, or splits."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.app.graph import Graph
from penstock.block.position import EVERYTHING, Frontier
from penstock.connectors.offsets import offset_source
from penstock.connectors.planned.source_port import Split
from penstock.connectors.port import OffsetSource
from penstock.plan.elements.merged_sources import goes_by_micro_batch, needs_intake
from penstock.plan.elements.order import streams_with_positions
from penstock.runtime.exchange.message import pack_frontier
from penstock.runtime.planning.source_planner import SourcePlanner, dealt, planned_sources
from penstock.runtime.replica.source_rows import SCHEMA, SPLIT, shares_row, split_row
from penstock.state.checkpoint.checkpoint import Checkpoint

BEAT = "#beat"  # raised to have a micro-batch although no tuples came
Offsets = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Share:
    """The splits of a source that one task reads, in order."""

    source: str
    splits: tuple[Split, ...]
    arrived_s: tuple[float | None, ...]

    def rows(self, number: int = SPLIT) -> Iterator[pa.RecordBatch]:
        """A row for each split; `number` is the share's where tasks choose."""
        for split, arrived_s in zip(self.splits, self.arrived_s, strict=True):
            yield split_row(self.source, split, arrived_s, number)


@dataclass(frozen=True, slots=True)
class AnyShare:
    """All shares of a micro-batch: each task chooses one."""

    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Range:
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
        self.count = len(self.sources) + len(planned_sources(graph))  # that share the cap
        # with an intake, stamps are known only from tuples, and it is the intake that puts them in order
        is_elsewhere = needs_intake(graph) or goes_by_micro_batch(graph)
        self.merged = [] if is_elsewhere else [name for name in self.sources if name in merged]

    def ends(self, begin: Mapping[str, int], time_s: float, cap_tuples: int) -> Offsets:
        share = self.share(cap_tuples)
        ends = {name: self._end(name, begin[name], time_s, share) for name in self.sources}
        safe = {name: self._safe(name, ends) for name in self.merged} if len(self.merged) > 1 else {}
        return {name: max(begin[name], safe.get(name, end)) for name, end in ends.items()}

    def share(self, cap_tuples: int) -> int:
        """What a source may take of the cap."""
        return max(1, cap_tuples // max(1, self.count))

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


class OffsetReader:
    """Offsets follow the schedule of arrivals from the moment the stream opened, at most a cap in one batch.

    `opens` is called when Spark asks for the first time, and says when the stream opened, in seconds since 1970.
    """

    def __init__(self, checkpoint: str | Path, opens: Callable[[], float] | None = None) -> None:
        self.checkpoint = Checkpoint(checkpoint)
        fixed = self.checkpoint.fixed()
        self.planner = SourcePlanner(fixed.graph, self.checkpoint.directory)
        self.cuts, self._opens = Cuts(fixed.graph), opens or (lambda: fixed.started_at_s)
        self._opened_s: float | None = None

    def initialOffset(self) -> Offsets:
        return {**dict.fromkeys(self.cuts.sources, 0), **dict.fromkeys(self.planner.sources), BEAT: 0}

    def latestOffset(self, start: Offsets, limit: object) -> Offsets:
        if self._opened_s is None:
            self._opened_s = self._opens()
        settings, time_s = self._settings(), time.time() - self._opened_s
        cap_tuples = settings["micro_batch_tuples"]
        ends = self.cuts.ends(start, time_s, cap_tuples)
        planned = self.planner.latest(start, time_s, self.cuts.share(cap_tuples))
        return {**ends, **planned, BEAT: max(start[BEAT], settings["beat"])}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[Range | Share | AnyShare]:
        settings = self._settings()
        frontier = self.cuts.frontier(end)
        packed = None if frontier is None else pack_frontier(frontier)
        splits = self.planner.splits(start, end)
        wanted = {name: end[name] - start[name] for name in self.cuts.sources if end[name] > start[name]}
        wanted |= {name: sum(split.tuples for split in own) for name, own in splits.items() if own}
        total, ranges = max(sum(wanted.values()), 1), list[Range | Share]()
        for name, tuples in wanted.items():
            tasks = max(1, round(settings["tasks"] * tuples / total))
            if name in splits:
                ranges += self._shares(name, splits[name], tasks)
                continue
            edges = _edges(start[name], end[name], settings["block_rows"], tasks)
            ranges += [Range(name, a, b, settings["block_rows"], packed) for a, b in itertools.pairwise(edges)]
        shares = tuple(own for own in ranges if isinstance(own, Share))
        if len(ranges) == len(shares) > 1 and self.planner.reads_ahead(splits):
            return [AnyShare(shares)] * len(shares)
        return ranges or [Range("", 0, 0, 1, None)]  # a beat: a task that sends on what waited

    def _shares(self, name: str, splits: Sequence[Split], tasks: int) -> Iterator[Share]:
        arrived_s = iter(self.planner.arrivals(name, splits))
        for own in dealt(splits, tasks):
            yield Share(name, own, tuple(itertools.islice(arrived_s, len(own))))

    def read(self, partition: Range | Share | AnyShare) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, AnyShare):
            yield shares_row(len(partition.shares))
            for number, own in enumerate(partition.shares):
                yield from own.rows(number)
            return
        if isinstance(partition, Share):
            yield from partition.rows()
            return
        starts = list(range(partition.start, partition.stop, partition.block_rows))
        rows = [
            {"source": partition.source, "start": start, "stop": min(start + partition.block_rows, partition.stop),
             "payload": None, "frontier": partition.frontier}
            for start in starts
        ]  # fmt: skip
        yield pa.RecordBatch.from_pylist(rows, SCHEMA)

    def _settings(self) -> dict[str, int]:
        """What the driver wants of the next batch; it writes the file whenever the configuration changes."""
        settings: dict[str, int] = json.loads(Path(self.checkpoint.directory, "intake").read_bytes())
        return settings


def _edges(first: int, last: int, block: int, tasks: int) -> list[int]:
    """The bounds of about equal ranges of whole blocks."""
    blocks = -(-(last - first) // block)
    tasks = max(1, min(tasks, blocks))
    return [min(first + block * (blocks * i // tasks), last) for i in range(tasks + 1)]
