"""Loops behind latency and arrivals: a few microseconds a micro-batch, where numpy took a third of a millisecond."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_WIDE = 1 << 44


class ArrivalKernels(NamedTuple):
    """The loops, compiled."""

    spread: Callable[[Integers, int, int, Integers, Integers], None]
    bucketed: Callable[[Floats, Integers, float, float, Integers], tuple[int, int, float, float]]
    neighbours: Callable[[int, int, Integers], None]
    intervals: Callable[[Floats], tuple[float, float]]


@functools.cache
def arrival_kernels() -> ArrivalKernels:
    """Compiled, or read from the disk, when first asked for: who reads recorded figures does not wait for numba."""
    from numba import types

    whole, wholes, floats, table = types.int64, types.int64[::1], types.float64[::1], types.int64[:, ::1]
    real, pair = types.float64, types.UniTuple(types.float64, 2)  # type: ignore[no-untyped-call]
    sums = types.Tuple((whole, whole, real, real))  # type: ignore[no-untyped-call]
    return ArrivalKernels(
        _compiled(types.void(table, whole, whole, wholes, wholes), _spread),
        _compiled(sums(floats, wholes, real, real, wholes), _bucketed),
        _compiled(types.void(whole, whole, wholes), _neighbours),
        _compiled(pair(floats), _intervals),
    )


def _compiled(signature: Any, loop: Callable[..., Any]) -> Any:
    from numba import njit

    return njit(signature, nogil=True, cache=True, error_model="numpy")(loop)


def _spread(triggers: Integers, stop: int, moments: int, offsets: Integers, shares: Integers) -> None:
    """Some offsets of each row of triggers, and the results that each of them stands for; rounded, none is lost."""
    half = moments // 2
    for row in range(len(triggers)):
        start, tuples = triggers[row, 0], triggers[row, 2]
        rows = min(max(triggers[row, 1], 1), max(stop - start, 1))
        before = half // moments
        for i in range(moments):
            upto = (tuples * (i + 1) + half) // moments
            if rows < _WIDE:
                offsets[row * moments + i] = start + rows * (2 * i + 1) // (2 * moments)
            else:  # numbers of several partitions, whose product would not fit
                offsets[row * moments + i] = start + rows // (2 * moments) * (2 * i + 1)
            shares[row * moments + i] = upto - before
            before = upto


def _bucketed(
    latency_ms: Floats, counts: Integers, lowest_ms: float, log_growth: float, buckets: Integers
) -> tuple[int, int, float, float]:
    """The bucket of each latency; the first and the last of them, the sum and the highest latency."""
    first, last, sum_ms, highest_ms = 1 << 62, -(1 << 62), 0.0, 0.0
    for i in range(len(latency_ms)):
        if counts[i] > 0:
            own_ms = max(latency_ms[i], lowest_ms)
            bucket = math.ceil(math.log(own_ms) / log_growth)
            buckets[i] = bucket
            first, last = min(first, bucket), max(last, bucket)
            sum_ms += own_ms * counts[i]
            highest_ms = max(highest_ms, own_ms)
    return first, last, sum_ms, highest_ms


def _neighbours(first: int, last: int, offsets: Integers) -> None:
    """Pairs of an offset and the next one, evenly spread over first..last."""
    steps = max(len(offsets) // 2 - 1, 1)
    for i in range(len(offsets) // 2):
        offsets[2 * i] = first + (last - first) * i // steps
        offsets[2 * i + 1] = offsets[2 * i] + 1


def _intervals(moments_s: Floats) -> tuple[float, float]:
    """Mean and variance of the times between the two of each pair."""
    pairs, mean_s, squares = len(moments_s) // 2, 0.0, 0.0
    for i in range(pairs):
        interval_s = moments_s[2 * i + 1] - moments_s[2 * i]
        above_s = interval_s - mean_s
        mean_s += above_s / (i + 1)
        squares += above_s * (interval_s - mean_s)
    return mean_s, squares / pairs
