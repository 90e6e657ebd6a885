"""The newest rows of a level, packed: a Point of twenty figures takes 3.5 kB, its numbers in one array 0.7 kB."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from penstock.control.journal.point import Point, ended_at_s

_NUMBERS = 11  # of a Point, without its ranges


class _Row(NamedTuple):
    """When it ended, the names of its figures, and all of its numbers."""

    end_s: float
    names: tuple[str, ...]
    numbers: array[float]


class PackedRows:
    """At most so many rows, in the order in which they came; Points are made of those that are asked for."""

    def __init__(self, most: int) -> None:
        self._rows: deque[_Row] = deque(maxlen=most)

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, point: Point) -> None:
        names = tuple(point.ranges)
        if self._rows and self._rows[-1].names == names:
            names = self._rows[-1].names  # one for all rows that have the same figures
        own = (
            point.begin_s, point.span_s, point.batches, point.batch, point.tuples_in, point.tuples_out,
            point.dead_letters, point.steps, point.broken_steps, point.run_s, point.replica_s,
        )  # fmt: skip
        numbers = array("d", list(chain(own, *point.ranges.values())))
        self._rows.append(_Row(ended_at_s(point), names, numbers))

    def extend(self, points: Iterable[Point]) -> None:
        for point in points:
            self.append(point)

    def after(self, end_s: float) -> Iterator[Point]:
        """Rows that ended later than that."""
        return (_unpacked(row) for row in self._rows if row.end_s > end_s)

    @property
    def first_begin_s(self) -> float | None:
        """When the first row begins; None without rows."""
        return self._rows[0].numbers[0] if self._rows else None

    @property
    def last_end_s(self) -> float | None:
        """When the last row that came ended; None without rows."""
        return self._rows[-1].end_s if self._rows else None

    def newest_s(self, otherwise: float) -> float:
        """When the row that ended last did."""
        return max((row.end_s for row in self._rows), default=otherwise)


def _unpacked(row: _Row) -> Point:
    _, names, numbers = row
    begin_s, span_s, *counted, run_s, replica_s = numbers[:_NUMBERS]
    batches, batch, tuples_in, tuples_out, dead_letters, steps, broken_steps = map(int, counted)
    ranges = {
        name: (numbers[place], numbers[place + 1], numbers[place + 2])
        for name, place in zip(names, range(_NUMBERS, len(numbers), 3), strict=True)
    }
    return Point(
        begin_s, span_s, batches, batch, tuples_in, tuples_out, dead_letters, steps, broken_steps, ranges, run_s,
        replica_s,
    )  # fmt: skip
