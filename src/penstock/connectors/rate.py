"""Spark's rate source, and what waits at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.arguments import is_whole
from penstock.block.schema import TIMESTAMP
from penstock.connectors.frames import FrameSource
from penstock.connectors.port import SourceSpec


@dataclass(frozen=True, slots=True)
class RateSource(FrameSource):
    """Spark's rate source: so many rows a second, numbered from 0, each with the moment it was made."""

    rows_per_second: int

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([("timestamp", TIMESTAMP), ("value", pa.int64())])

    @property
    def promise(self) -> str:
        return "Exactly once: a row follows from its number, and the checkpoint has the offsets of each micro-batch."

    def problems(self, source: SourceSpec) -> Sequence[str]:
        if is_whole(self.rows_per_second, 1):
            return []
        return [f"needs rows_per_second as a whole number of at least 1; got {self.rows_per_second!r}"]

    def streaming_frame(self, session: Any) -> Any:
        """Its rows as a streaming DataFrame of a Spark session."""
        return session.readStream.format("rate").option("rowsPerSecond", self.rows_per_second).load()


class RateWaiting:
    """Spark's rate source: offsets are whole seconds since the moment in its file."""

    arrives = True

    def __init__(self, rows_per_second: int, created: Path) -> None:
        self._rows_per_second, self._file = rows_per_second, created
        self._created_s: float | None = None

    def waiting(self, before: Any, after: Any, tuples: int, now_s: float) -> float | None:
        if self._created_s is None:
            try:
                self._created_s = int(self._file.read_text().split("\n")[1]) / 1000
            except (OSError, ValueError, IndexError):
                return None
        return max(int(now_s - self._created_s) - int(after or 0), 0) * float(self._rows_per_second)
