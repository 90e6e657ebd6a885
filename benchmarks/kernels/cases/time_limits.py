"""Limits of time windows per key: sums and counts per pane of 1 s, and running totals over the panes of a window.

Tuples come in order of time, as the benchmark's do; at each firing a key's total takes in one pane and gives up
another.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from benchmarks.kernels.loop import Array

PANE_US = 1_000_000


def time_buffers(panes: int, keys: int, first_pane: int, rows: int) -> tuple[tuple[Array, ...], dict[str, Array]]:
    """State (number of the pane being filled, ring of panes, totals: sum and count side by side) and outputs."""
    state = (np.full(1, first_pane), np.zeros((panes, keys, 2)), np.zeros((keys, 2)))
    outputs: dict[str, Array] = {"ticker": np.zeros(rows, np.int32), "end": np.zeros(rows, np.int64)}
    outputs |= {"n": np.zeros(rows, np.int64), "total": np.zeros(rows)}
    return state, outputs


@nb.njit(nogil=True, cache=True)
def time_windows(ticker, event_us, price, current, ring, totals, out_ticker, out_end, out_n, out_total):  # type: ignore[no-untyped-def]
    """Windows of as many panes as the ring has, one firing per pane; gives the number of rows written."""
    j = 0
    pane = current[0]
    slot = pane % ring.shape[0]
    next_us = (pane + 1) * PANE_US
    for i in range(ticker.shape[0]):
        while event_us[i] >= next_us:
            coming = (slot + 1) % ring.shape[0]  # holds the pane that leaves the window
            for key in range(totals.shape[0]):
                total, count = totals[key, 0] + ring[slot, key, 0], totals[key, 1] + ring[slot, key, 1]
                if count > 0:
                    out_ticker[j], out_end[j], out_n[j], out_total[j] = key, next_us, count, total
                    j += 1
                totals[key, 0], totals[key, 1] = total - ring[coming, key, 0], count - ring[coming, key, 1]
                ring[coming, key, 0], ring[coming, key, 1] = 0.0, 0.0
            pane, slot, next_us = pane + 1, coming, next_us + PANE_US
        k = ticker[i]
        ring[slot, k, 0] += price[i]
        ring[slot, k, 1] += 1.0
    current[0] = pane
    return j
