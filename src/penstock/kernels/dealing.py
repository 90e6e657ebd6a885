"""Dealing rows out to replicas."""

from __future__ import annotations

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def deal(slots, route, replicas):  # type: ignore[no-untyped-def]
    """The rows of each replica in their order, one replica after the other; where each one's begin; rows by slot."""
    counts = np.zeros(route.shape[0], np.int64)
    for row in range(slots.shape[0]):
        counts[slots[row]] += 1
    starts = np.zeros(replicas + 1, np.int64)
    for slot in range(route.shape[0]):
        starts[route[slot] + 1] += counts[slot]
    for replica in range(replicas):
        starts[replica + 1] += starts[replica]
    places = starts[:-1].copy()
    rows = np.empty(slots.shape[0], np.int64)
    for row in range(slots.shape[0]):
        replica = route[slots[row]]
        rows[places[replica]] = row
        places[replica] += 1
    return rows, starts, counts
