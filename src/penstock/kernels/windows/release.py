"""A buffer of fixed size that lets its lowest row go whenever one more arrives."""

from __future__ import annotations

import heapq

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def release_lowest(rank, held, size):  # type: ignore[no-untyped-def]
    """Rows let go, and the number of the new row that pushed each out.

    `rank[row]` is the row's place in sorted order; rows below `held` are in the buffer already, others come in turn.
    """
    row_of = np.empty(rank.shape[0], np.int64)
    for row in range(rank.shape[0]):
        row_of[rank[row]] = row
    heap = [rank[row] for row in range(held)]
    heapq.heapify(heap)
    released = np.empty(rank.shape[0] - held, np.int64)
    triggers = np.empty(rank.shape[0] - held, np.int64)
    n = 0
    for row in range(held, rank.shape[0]):
        heapq.heappush(heap, rank[row])
        if len(heap) > size:
            released[n] = row_of[heapq.heappop(heap)]
            triggers[n] = row - held
            n += 1
    return released[:n], triggers[:n]
