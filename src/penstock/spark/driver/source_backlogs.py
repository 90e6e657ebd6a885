"""What waits at sources without a schedule of arrivals, by Spark's own log of offsets and by what they still have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.connectors.arriving.backlogs import backlog_of
from penstock.connectors.arriving.kafka_backlog import TopicWaiting
from penstock.connectors.offsets import offset_source
from penstock.connectors.port import SourceBacklog
from penstock.measure.observation import Observation
from penstock.runtime.driver.input_end import offsets_of
from penstock.runtime.planning.source_planner import is_planned, path_of
from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed


class SourceBacklogs:
    """Completes Observations with the backlog of sources without a schedule, and with what has arrived at them.

    Nothing is done where all sources have one.
    """

    def __init__(self, fixed: Fixed, checkpoint: Checkpoint) -> None:
        self._spark = Path(checkpoint.spark)
        self._sources: dict[str, SourceBacklog] = {}
        self._lines: dict[str, int] = {}  # of Spark's log: the first is of all sources that are planned
        for source in fixed.graph.sources:
            line = (
                0
                if offset_source(source, 0) is not None or is_planned(source)
                else max(self._lines.values(), default=0) + 1
            )
            own = path_of(checkpoint.directory, source.name)
            backlog = backlog_of(source, own, self._spark / "sources" / str(line))
            if backlog is not None:
                self._sources[source.name] = backlog
            self._lines[source.name] = line
        self._offsets: tuple[int, Sequence[Any]] | None = None  # of the newest batch
        self._before_tuples: int | None = None
        self._waiting: dict[str, float | None] = {}  # of the newest batch, by source

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
        self._waiting = dict(zip(self._sources, waiting, strict=True))
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

    def waits_s(self, seen: Observation) -> dict[str, float | None]:
        """How long tuples of each source wait before they are taken: backlog over the rate at which they are taken.

        None where the source does not tell its backlog.  Tuples that are all there from the beginning wait for nobody.
        `seen` is the Observation that was completed last.
        """
        taken, period_s = tuples_by_stream(seen), 0.0 if seen.arrivals is None else seen.arrivals.period_s
        found: dict[str, float | None] = {}
        for name, source in self._sources.items():
            waiting, tuples = self._waiting.get(name) if source.arrives else 0.0, taken.get(name, 0)
            found[name] = None if waiting is None else waiting * period_s / tuples if tuples else 0.0
        return found

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


def tuples_by_stream(seen: Observation) -> Mapping[str, int]:
    """What came into the application by each stream: an element behind the first may read it, too."""
    found: dict[str, int] = {}
    for replicas in seen.replicas_by_element.values():
        own: dict[str, int] = {}
        for port in (port for replica in replicas for port in replica.inputs):
            own[port.stream] = own.get(port.stream, 0) + port.tuples
        found |= {stream: max(tuples, found.get(stream, 0)) for stream, tuples in own.items()}
    return found
