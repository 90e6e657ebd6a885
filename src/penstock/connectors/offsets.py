"""Sources whose tuples are known by their offsets: offset n always gives the same tuple, with the same position."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from penstock.connectors.planned.source_port import Offset, Planning, Reading, Split
from penstock.connectors.port import OffsetSource, SourceSpec


class KnownOffsets(ABC):
    """A source behind the port that is one partition, whose offsets are the numbers of its tuples.

    Engines take `by_offset`, which gives positions too; `splits` and `read` give the same tuples.
    """

    __slots__ = ()
    in_one_partition = True

    @abstractmethod
    def by_offset(self, source: SourceSpec, place: int) -> OffsetSource:
        """Its tuples by their offsets, for a source of an application."""

    @abstractmethod
    def there_by(self, time_s: float) -> int | None:
        """How many tuples are there so many seconds after the stream opened; None where any number is."""

    def problems(self, source: SourceSpec) -> Sequence[str]:
        return ()

    def latest(self, start: Offset, planning: Planning) -> Offset:
        begin, there = start or 0, self.there_by(planning.time_s)
        end = begin + planning.most_tuples if there is None else min(begin + planning.most_tuples, there)
        return end if end > begin else start

    def splits(self, start: Offset, end: Offset, path: Path) -> Sequence[Split]:
        begin = start or 0
        return [Split([begin, end], first=begin, tuples=end - begin)] if end is not None and end > begin else []

    def read(self, split: Split, reading: Reading) -> Iterator[pa.RecordBatch]:
        yield self.by_offset(reading.source, 0).block(*split.part, positioned=False).to_arrow()

    @abstractmethod
    def backlog(self, after: Offset, path: Path) -> float | None:
        """What is left where all tuples are there from the beginning; None: the schedule of arrivals says it."""

    def arrivals(self, splits: Sequence[Split], path: Path) -> Sequence[float | None]:
        return [None] * len(splits)


def offset_source(source: SourceSpec, place: int) -> OffsetSource | None:
    """The source by its offsets; None where it has none, as rows come from elsewhere."""
    by_offset = getattr(source.connector, "by_offset", None)
    opened: OffsetSource | None = None if by_offset is None else by_offset(source, place)
    return opened
