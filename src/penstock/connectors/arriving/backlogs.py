"""What waits at a source, whichever it is: one place that knows how each kind tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.connectors.arriving.kafka_backlog import TopicWaiting
from penstock.connectors.offsets import offset_source
from penstock.connectors.planned.source_port import planned_source
from penstock.connectors.port import SourceBacklog, SourceSpec
from penstock.connectors.rate import RateSource, RateWaiting
from penstock.connectors.recorded import RestWaiting


class PlannedWaiting:
    """A source behind the port, which tells itself what waits."""

    arrives = True

    def __init__(self, source: SourceSpec, path: Path) -> None:
        self._name, self._port, self._path = source.name, planned_source(source.connector), path

    def waiting(self, before: Any, after: Any, tuples: int, now_s: float) -> float | None:
        assert self._port is not None
        return None if after is None else self._port.backlog(after.get(self._name), self._path)


def backlog_of(source: SourceSpec, own: Path, spark: Path) -> SourceBacklog | None:
    """Who tells it; None for a source with a schedule, whose clock does.

    `own` is what the source keeps in the checkpoint, `spark` what Spark keeps of it.
    """
    opened = offset_source(source, 0)
    if opened is not None:
        return None if opened.has_schedule else RestWaiting(source.name, opened.total)
    if planned_source(source.connector) is not None:
        return PlannedWaiting(source, own)
    if isinstance(source.connector, RateSource):
        return RateWaiting(source.connector.rows_per_second, spark / "0")
    return TopicWaiting()


def arrives(source: SourceSpec) -> bool:
    """Whether its tuples come by themselves, one after the other; those of a table are all there."""
    opened = offset_source(source, 0)
    return opened is None or opened.has_schedule
