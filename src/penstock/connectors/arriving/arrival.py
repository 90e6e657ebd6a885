"""When the tuples of a source arrived: what a source is asked to go by, and the words for what it went by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

LatencyFrom = Literal["schedule", "append", "create", "column", "file", "intake"]
# From the most exact to the least: of several sources the last one is reported.
LATENCY_FROM: Final[tuple[LatencyFrom, ...]] = ("schedule", "append", "file", "create", "column", "intake")
INTAKE: Final = "intake"


@dataclass(frozen=True, slots=True)
class ArrivalColumn:
    """The attribute that says when a tuple arrived: a timestamp, or a number of seconds since 1970 UTC."""

    name: str


Arrival = ArrivalColumn | Literal["intake"] | None


@dataclass(frozen=True, slots=True, eq=False)
class Arrived:
    """When some tuples arrived, in seconds since 1970 UTC: one moment for all of them, or one for each.

    With `spread` (begin, end, rows) they are the tuples begin..end of so many, over which moments are spread evenly.
    """

    moments_s: float | npt.NDArray[np.float64]
    latency_from: LatencyFrom
    spread: tuple[int, int, int] | None = None

    def part(self, begin: int, end: int, rows: int) -> Arrived:
        """Those of the tuples begin..end of so many.

        Where a source gave a sample, or some tuples have become dead letters, the moments are spread over the tuples.
        """
        if isinstance(self.moments_s, float):
            return self
        if len(self.moments_s) == rows:
            return Arrived(self.moments_s[begin:end], self.latency_from)
        return Arrived(self.moments_s, self.latency_from, (begin, end, rows))

    def at(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The moments of tuples by their places; of one moment for all, that."""
        if isinstance(self.moments_s, float):
            return np.full(len(places), self.moments_s)
        if self.spread is not None:
            begin, _, rows = self.spread
            places = ((begin + places) * (len(self.moments_s) / rows)).astype(np.int64)
        found: npt.NDArray[np.float64] = self.moments_s[places]
        return found


def least_exact(words: Iterable[LatencyFrom]) -> LatencyFrom | None:
    """What the latency of several sources together counts from.

    >>> least_exact(["schedule", "file"])
    'file'
    """
    return max(words, key=LATENCY_FROM.index, default=None)
