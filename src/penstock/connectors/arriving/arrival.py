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
    """When some tuples arrived, in seconds since 1970 UTC: one moment for all of them, or one for each."""

    moments_s: float | npt.NDArray[np.float64]
    latency_from: LatencyFrom

    def part(self, begin: int, end: int, rows: int) -> Arrived:
        """Those of the tuples begin..end of so many.

        Where some tuples have become dead letters, the moments are spread over those that are left.
        """
        if isinstance(self.moments_s, float):
            return self
        own, scale = self.moments_s, len(self.moments_s) / max(rows, 1)
        if scale == 1.0:
            return Arrived(own[begin:end], self.latency_from)
        return Arrived(own[(np.arange(begin, end) * scale).astype(np.int64)], self.latency_from)


def least_exact(words: Iterable[LatencyFrom]) -> LatencyFrom | None:
    """What the latency of several sources together counts from.

    >>> least_exact(["schedule", "file"])
    'file'
    """
    return max(words, key=LATENCY_FROM.index, default=None)
