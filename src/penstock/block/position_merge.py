"""Merging two ordered runs of positions."""

from __future__ import annotations

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def merge_pair(one, other, stamp, place, sequence, levels):  # type: ignore[no-untyped-def]
    """Indices of two ordered runs as one ordered run; ties go to the first run."""
    merged = np.empty(one.shape[0] + other.shape[0], np.int64)
    i = j = 0
    for k in range(merged.shape[0]):
        if j >= other.shape[0]:
            first = True
        elif i >= one.shape[0]:
            first = False
        else:
            first = not _before(other[j], one[i], stamp, place, sequence, levels)
        if first:
            merged[k] = one[i]
            i += 1
        else:
            merged[k] = other[j]
            j += 1
    return merged


@nb.njit(nogil=True, cache=True)
def merge_stamps(one, other, ties_to_one):  # type: ignore[no-untyped-def]
    """The order of two ascending runs of stamps, as indices into their concatenation."""
    merged = np.empty(one.shape[0] + other.shape[0], np.int64)
    i = j = 0
    for k in range(merged.shape[0]):
        if j >= other.shape[0]:
            first = True
        elif i >= one.shape[0]:
            first = False
        else:
            first = one[i] < other[j] or (ties_to_one and one[i] == other[j])
        merged[k] = i if first else one.shape[0] + j
        i += first
        j += not first
    return merged


@nb.njit(nogil=True, cache=True)
def _before(a, b, stamp, place, sequence, levels):  # type: ignore[no-untyped-def]
    """Whether position a comes strictly before b."""
    if stamp[a] != stamp[b]:
        return stamp[a] < stamp[b]
    if place[a] != place[b]:
        return place[a] < place[b]
    if sequence[a] != sequence[b]:
        return sequence[a] < sequence[b]
    for level in range(levels.shape[0]):
        if levels[level, a] != levels[level, b]:
            return levels[level, a] < levels[level, b]
    return False
