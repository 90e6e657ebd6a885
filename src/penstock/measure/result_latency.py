"""The latency of results, from the source's blocks that triggered them and the schedule of arrivals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from penstock.measure.latency_sketch import LatencySketch, sketch_of
from penstock.measure.observation import ArrivalObservation

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ArrivalS = Callable[[Integers], Floats]
_MOMENTS_MAX = 1024
_MOMENTS_PER_BLOCK_MAX = 64
_INTERVALS_MAX = 128


def result_latency(triggers: Integers, stop: int, arrival_s: ArrivalS, committed_s: float) -> LatencySketch:
    """The sketch of `committed_s` minus the arrivals that triggered results.

    `triggers` are rows of (first offset, offsets, results) of one source, whose offsets end at `stop`.
    """
    if not len(triggers):
        return LatencySketch()
    starts, rows, tuples = triggers.T
    moments = int(np.clip(_MOMENTS_MAX // len(starts), 1, _MOMENTS_PER_BLOCK_MAX))
    rows = np.clip(rows, 1, np.maximum(stop - starts, 1))
    middles = (2 * np.arange(moments) + 1) / (2 * moments)
    offsets = starts[:, None] + (rows[:, None] * middles).astype(np.int64)
    shares = (tuples[:, None] * np.arange(moments + 1) + moments // 2) // moments  # rounded: none earlier or later
    late_ms = (committed_s - arrival_s(offsets.ravel())) * 1000
    return sketch_of(late_ms, np.diff(shares, axis=1).ravel())


def arrivals_between(first: int, stop: int, period_s: float, arrival_s: ArrivalS) -> ArrivalObservation:
    """The tuples at offsets first..stop, which arrived within a period; the intervals are those of some of them."""
    tuples = max(stop - first, 0)
    if tuples < 2:
        return ArrivalObservation(tuples, period_s)
    offsets = np.linspace(first, stop - 2, min(_INTERVALS_MAX, tuples - 1)).astype(np.int64)
    moments_s = arrival_s(np.stack([offsets, offsets + 1], axis=1).ravel()).reshape(-1, 2)
    intervals_s = moments_s[:, 1] - moments_s[:, 0]
    return ArrivalObservation(tuples, period_s, float(intervals_s.mean()), float(intervals_s.var()))
