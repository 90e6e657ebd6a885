"""A sketch of latencies: quantiles within 1 % of the exact ones, in a few hundred counts, and sketches can be added up.

Bucket k holds the latencies of (g^(k-1), g^k] ms with g = (1 + e) / (1 - e), e the relative error; its middle
2 g^k / (g + 1) is within e of every one of them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from penstock.measure.arrival_kernels import arrival_kernels

RELATIVE_ERROR = 0.01
LOWEST_MS = 0.001  # what is less counts as this
_GROWTH = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GROWTH = math.log(_GROWTH)


@dataclass(frozen=True, slots=True)
class LatencySketch:
    """How many results had which latency: `counts` of the buckets from number `first` on.

    >>> sketch = sketch_of(np.array([10.0, 20.0, 400.0]), np.array([50, 49, 1]))
    >>> round(sketch.quantile(0.5), 1), round(sketch.quantile(1.0)), sketch.results
    (10.1, 399, 100)
    """

    first: int = 0
    counts: tuple[int, ...] = ()
    sum_ms: float = 0.0
    highest_ms: float = 0.0

    @property
    def results(self) -> int:
        return sum(self.counts)

    @property
    def mean_ms(self) -> float:
        """The exact mean."""
        return self.sum_ms / max(self.results, 1)

    def quantile(self, ratio: float) -> float:
        """The latency, in ms, of the result at rank floor(ratio * (results - 1)) in ascending order."""
        if not self.counts:
            raise ValueError("a sketch without results has no quantiles")
        rank = math.floor(ratio * (self.results - 1))
        bucket = bisect_right(list(accumulate(self.counts)), rank)
        return min(2 * _GROWTH ** (self.first + bucket) / (_GROWTH + 1), max(self.highest_ms, LOWEST_MS))


def sketch_of(latency_ms: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> LatencySketch:
    """The sketch of `counts[i]` results with each `latency_ms[i]`."""
    buckets = np.empty(len(counts), np.int64)
    first, last, sum_ms, highest_ms = arrival_kernels().bucketed(
        np.ascontiguousarray(latency_ms), np.ascontiguousarray(counts), LOWEST_MS, _LOG_GROWTH, buckets
    )
    if last < first:
        return LatencySketch()
    some = counts > 0
    if not some.all():
        buckets, counts = buckets[some], counts[some]
    summed = np.bincount(buckets - first, weights=counts, minlength=last - first + 1).astype(np.int64)
    return LatencySketch(first, tuple(summed.tolist()), sum_ms, highest_ms)


def merged(sketches: Iterable[LatencySketch]) -> LatencySketch:
    """The sketch of all results together."""
    some = [sketch for sketch in sketches if sketch.counts]
    if len(some) < 2:
        return some[0] if some else LatencySketch()
    first = min(sketch.first for sketch in some)
    counts = np.zeros(max(sketch.first + len(sketch.counts) for sketch in some) - first, np.int64)
    for sketch in some:
        counts[sketch.first - first : sketch.first - first + len(sketch.counts)] += sketch.counts
    sum_ms, highest_ms = sum(s.sum_ms for s in some), max(s.highest_ms for s in some)
    return LatencySketch(first, tuple(counts.tolist()), sum_ms, highest_ms)
