"""The latency of results, from the source's blocks that triggered them and the schedule of arrivals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.measure.arrival_kernels import Floats, Integers, arrival_kernels
from penstock.measure.latency_sketch import LatencySketch, sketch_of
from penstock.measure.observation import ArrivalObservation

ArrivalS = Callable[[Integers], Floats]
_MOMENTS_MAX = 512
_MOMENTS_PER_BLOCK_MAX = 64
_INTERVALS_MAX = 128


def result_latency(triggers: Integers, stop: int, arrival_s: ArrivalS, committed_s: float) -> LatencySketch:
    """The sketch of `committed_s` minus the arrivals that triggered results.

    `triggers` are rows of (first offset, offsets, results) of one source, whose offsets end at `stop`.
    """
    if not len(triggers):
        return LatencySketch()
    moments = min(max(_MOMENTS_MAX // len(triggers), 1), _MOMENTS_PER_BLOCK_MAX)
    offsets, shares = np.empty((2, moments * len(triggers)), np.int64)
    arrival_kernels().spread(np.ascontiguousarray(triggers), stop, moments, offsets, shares)
    return sketch_of((committed_s - arrival_s(offsets)) * 1000, shares)


def arrivals_between(first: int, stop: int, period_s: float, arrival_s: ArrivalS) -> ArrivalObservation:
    """The tuples at offsets first..stop, which arrived within a period; the intervals are those of some of them."""
    tuples = max(stop - first, 0)
    if tuples < 2:
        return ArrivalObservation(tuples, period_s)
    kernels, offsets = arrival_kernels(), np.empty(2 * min(_INTERVALS_MAX, tuples - 1), np.int64)
    kernels.neighbours(first, stop - 2, offsets)
    return ArrivalObservation(tuples, period_s, *kernels.intervals(arrival_s(offsets)))
