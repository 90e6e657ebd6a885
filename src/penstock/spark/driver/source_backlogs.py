"""What waits at sources without a schedule of arrivals, by Spark's own log of offsets and by what they still have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.app.operators import Source
from penstock.connectors.csv import CsvSource
from penstock.connectors.files.backlog import FilesWaiting
from penstock.connectors.files.writers import file_name
from penstock.connectors.kafka_backlog import TopicWaiting
from penstock.connectors.offsets import offset_source
from penstock.connectors.parquet import ParquetSource
from penstock.connectors.port import SourceBacklog
from penstock.connectors.rate import RateSource, RateWaiting
from penstock.connectors.recorded import RecordedSource, RestWaiting
from penstock.connectors.trace.source import TraceSource
from penstock.measure.observation import Observation
from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed


class SourceBacklogs:
    """Completes Observations with the backlog of sources without a schedule, and with what has arrived at them.

    Nothing is done where all sources have one.
    """

    def __init__(self, fixed: Fixed, checkpoint: Checkpoint) -> None:
        self._spark = Path(checkpoint.spark)
        self._sources: dict[str, SourceBacklog] = {}
        self._lines: dict[str, int] = {}  # of Spark's log: the first is of all sources that are known by offsets
        for source in fixed.graph.sources:
            by_offsets = offset_source(source, 0) is not None
            line = 0 if by_offsets else max(self._lines.values(), default=0) + 1
            if not (isinstance(source.connector, TraceSource) and source.connector.has_schedule):
                self._sources[source.name] = self._backlog_of(source, line, checkpoint)
            self._lines[source.name] = line
        self._offsets: tuple[int, Sequence[Any]] | None = None  # of the newest batch
        self._before_tuples: int | None = None

    def _backlog_of(self, source: Source, line: int, checkpoint: Checkpoint) -> SourceBacklog:
        match source.connector:
            case CsvSource() | ParquetSource():
                log = checkpoint.directory / "files" / file_name(source.name)
                return FilesWaiting(Path(source.connector.path).absolute(), log)
            case RateSource(rows_per_second):
                return RateWaiting(rows_per_second, self._spark / "sources" / str(line) / "0")
            case RecordedSource() | TraceSource():
                opened = offset_source(source, 0)
                return RestWaiting(source.name, None if opened is None else opened.total)
            case _:
                return TopicWaiting()

    def tell(self, query: StreamingQuery) -> None:
        """What Spark reports of the last trigger, for sources that only Spark knows."""
        asking = {name: own for name, own in self._sources.items() if isinstance(own, TopicWaiting) and own.may_tell}
        try:
            progress: Any = query._jsq.lastProgress() if asking else None
            body: Any = None if progress is None else json.loads(progress.json())
        except Exception:  # a figure that is missing must not end the run
            return
        for name, own in asking.items() if body is not None else ():
            own.tell(body, self._lines[name])

    def completed(self, seen: Observation) -> Observation:
        """The Observation with its backlog, as far as that is known, and arrivals that go with it."""
        if not self._sources or seen.arrivals is None:
            return seen
        waiting = self._waiting_by_source(seen)
        known = [tuples for tuples in waiting if tuples is not None]
        backlog = seen.backlog_tuples
        if known:
            backlog = (backlog or 0) + round(sum(known))
        is_whole = len(known) == len(waiting) and all(source.arrives for source in self._sources.values())
        before, self._before_tuples = self._before_tuples, backlog if is_whole else None
        if before is None or backlog is None or not is_whole:
            return replace(seen, backlog_tuples=backlog, arrivals=replace(seen.arrivals, assumed=True))
        arrived = max(seen.tuples_in + backlog - before, 0)
        return replace(seen, backlog_tuples=backlog, arrivals=replace(seen.arrivals, tuples=arrived, assumed=False))

    def _waiting_by_source(self, seen: Observation) -> list[float | None]:
        before, after = self._between(seen.batch)
        if len(before) != len(after) or len(after) != max(self._lines.values()) + 1:
            return [None] * len(self._sources)  # a user's DataFrame of several streams has several lines
        taken, now_s = tuples_by_stream(seen), seen.committed_at_s or seen.started_at_s + seen.micro_batch_s
        return [
            source.waiting(before[self._lines[name]], after[self._lines[name]], taken.get(name, 0), now_s)
            for name, source in self._sources.items()
        ]

    def _between(self, batch: int) -> tuple[Sequence[Any], Sequence[Any]]:
        """The offsets before and after a batch; none before the first, and where Spark does not tell."""
        after = offsets_of(self._spark, batch)
        if self._offsets is not None and self._offsets[0] == batch - 1:
            before = self._offsets[1]
        else:
            before = offsets_of(self._spark, batch - 1) if batch else [None] * len(after)
        self._offsets = batch, after
        return before, after


def offsets_of(spark: Path, batch: int) -> list[Any]:
    """The offsets that a batch ends with, in the order of Spark's sources; none where they cannot be read.

    A source that has not begun has None.
    """
    try:
        version, _, *lines = (spark / "offsets" / str(batch)).read_text().split("\n")
        return [None if line == "-" else json.loads(line) for line in lines] if version == "v1" else []
    except (OSError, ValueError):
        return []


def tuples_by_stream(seen: Observation) -> Mapping[str, int]:
    """What came into the application by each stream: an element behind the first may read it, too."""
    found: dict[str, int] = {}
    for replicas in seen.replicas_by_element.values():
        own: dict[str, int] = {}
        for port in (port for replica in replicas for port in replica.inputs):
            own[port.stream] = own.get(port.stream, 0) + port.tuples
        found |= {stream: max(tuples, found.get(stream, 0)) for stream, tuples in own.items()}
    return found
