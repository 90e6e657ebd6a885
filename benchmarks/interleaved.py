"""Two ways measured in turns, and how sure their ratio is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import TypeVar

Figure = TypeVar("Figure")
_T_95 = 2.05  # Student's t at 95 % for 30 pairs; for more it is a little less


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """The ratio of one way's seconds to the other's: median of all pairs, 95 % confidence interval of the mean."""

    pairs: int
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.4f} ({self.low:.4f}-{self.high:.4f})"


def paired_ratio(seconds: Sequence[tuple[float, float]]) -> PairedRatio:
    """The ratio of first to second over pairs; means are of logarithms, so that both directions count alike.

    >>> str(paired_ratio([(1.0, 2.0)] * 30))
    '0.5000 (0.5000-0.5000)'
    """
    logs = [math.log(one / other) for one, other in seconds]
    low, high = interval(logs)
    return PairedRatio(len(logs), math.exp(median(logs)), math.exp(low), math.exp(high))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the mean.

    >>> interval([1.0] * 30)
    (1.0, 1.0)
    """
    spread = _T_95 * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return fmean(values) - spread, fmean(values) + spread


def in_turns(one: Callable[[], Figure], other: Callable[[], Figure], pairs: int) -> list[tuple[Figure, Figure]]:
    """What both give, measured as pairs; which goes first alternates."""
    measured = []
    for pair in range(pairs):
        if pair % 2:
            second = other()
            measured.append((one(), second))
        else:
            first = one()
            measured.append((first, other()))
    return measured
