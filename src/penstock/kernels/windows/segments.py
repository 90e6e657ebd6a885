"""Aggregates of rows that are spelt out: segment i is values[offsets[i]:offsets[i + 1]]."""

from __future__ import annotations

import numba as nb
import numpy as np

# mypy: disable-error-code="no-untyped-def"


@nb.njit(nogil=True, cache=True)
def segment_count(valid, offsets):
    """How many values are valid."""
    counts = np.zeros(offsets.shape[0] - 1, np.int64)
    for segment in range(counts.shape[0]):
        for i in range(offsets[segment], offsets[segment + 1]):
            counts[segment] += valid[i]
    return counts


@nb.njit(nogil=True, cache=True)
def segment_sum(values, valid, offsets, sums):
    """Sums of valid values, left to right, into `sums` (zeros of int64 or float64)."""
    for segment in range(sums.shape[0]):
        for i in range(offsets[segment], offsets[segment + 1]):
            if valid[i]:
                sums[segment] += values[i]


@nb.njit(nogil=True, cache=True)
def segment_extreme(values, valid, offsets, highest):
    """The index of the lowest (highest) valid value, the first of equals, a NaN before all; -1 where there is none."""
    found = np.full(offsets.shape[0] - 1, -1, np.int64)
    for segment in range(found.shape[0]):
        best = -1
        for i in range(offsets[segment], offsets[segment + 1]):
            if not valid[i] or (best >= 0 and values[best] != values[best]):
                continue
            better = best < 0 or values[i] != values[i]
            if not better:
                better = values[i] > values[best] if highest else values[i] < values[best]
            if better:
                best = i
        found[segment] = best
    return found


@nb.njit(nogil=True, cache=True)
def segment_deviation(values, valid, offsets):
    """Sample standard deviations by two passes; where there are fewer than two values, 0."""
    result = np.zeros(offsets.shape[0] - 1)
    for segment in range(result.shape[0]):
        n, total = 0, 0.0
        for i in range(offsets[segment], offsets[segment + 1]):
            if valid[i]:
                n += 1
                total += values[i]
        if n < 2:
            continue
        mean, squares = total / n, 0.0
        for i in range(offsets[segment], offsets[segment + 1]):
            if valid[i]:
                squares += (values[i] - mean) ** 2
        result[segment] = np.sqrt(squares / (n - 1))
    return result


@nb.njit(nogil=True, cache=True)
def segment_distinct(codes, valid, offsets, code_count):
    """How many different codes each segment has."""
    counts = np.zeros(offsets.shape[0] - 1, np.int64)
    seen = np.full(code_count, -1, np.int64)
    for segment in range(counts.shape[0]):
        for i in range(offsets[segment], offsets[segment + 1]):
            if valid[i] and seen[codes[i]] != segment:
                seen[codes[i]] = segment
                counts[segment] += 1
    return counts
