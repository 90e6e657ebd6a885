"""Sources whose rows Spark brings: each builds its streaming DataFrame from the session that it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.connectors.planned.source_port import Planning, Reading, Split
from penstock.connectors.port import SourceSpec


class FrameSource(ABC):
    """A source behind the port that Spark plans and reads, so that the driver has nothing to plan."""

    __slots__ = ()
    session: Any = None  # the Spark session that its DataFrame belongs to; None: any

    @abstractmethod
    def streaming_frame(self, session: Any) -> Any:
        """Its rows as a streaming DataFrame of a Spark session; None where it has lost them."""

    def problems(self, source: SourceSpec) -> Sequence[str]:
        return ()

    def latest(self, start: Any, planning: Planning) -> Any:
        """Spark's own source says how far a micro-batch goes."""
        return start

    def splits(self, start: Any, end: Any, path: Path) -> Sequence[Split]:
        return ()

    def read(self, split: Split, reading: Reading) -> Iterable[pa.RecordBatch | pa.Table]:
        return ()

    def backlog(self, after: Any, path: Path) -> float | None:
        """Not known here: Spark's log and its reports say it."""
        return None

    def arrivals(self, splits: Sequence[Split], path: Path) -> Sequence[float | None]:
        return [None] * len(splits)


def has_frame(connector: object) -> bool:
    """Whether Spark brings its rows as a streaming DataFrame."""
    return hasattr(connector, "streaming_frame")


def streaming_frame_of(connector: object, session: Any) -> Any:
    """Its streaming DataFrame, in the session that it is given; None where it has none, or has lost it."""
    return connector.streaming_frame(session) if has_frame(connector) else None  # type: ignore[attr-defined]


def session_of_frame(connector: object) -> Any:
    """The Spark session that a user's DataFrame belongs to; None where there is no such DataFrame."""
    return getattr(connector, "session", None) if has_frame(connector) else None
