"""Limits of the whole of `vwap_per_ticker`, a filter and a projection.

A limit is the plain numba loop for just one job: ready arrays in, preallocated arrays out, dense integer keys,
no nulls.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from benchmarks.kernels.loop import Array

KEYS = 2836


def vwap_buffers(n: int) -> tuple[Array, ...]:
    """State (ring of 4 prices, ring of 4 volumes, count) and nine output columns for blocks of n tuples."""
    return (np.zeros((KEYS, 4)), np.zeros((KEYS, 4)), np.zeros(KEYS, np.int64),
            np.empty(n, np.int32), np.empty(n, np.int32), *(np.empty(n) for _ in range(7)))  # fmt: skip


# Line for line the loop of the sketch against which the goals were set: it is not tuned here.
# fmt: off
@nb.njit(nogil=True, cache=True)
def vwap_per_ticker(ticker, is_trade, price, volume, ring_price, ring_volume, count,  # type: ignore[no-untyped-def]
                    out_ticker, out_n, out_low, out_high, out_mean, out_notional, out_volume, out_vwap, out_cents):
    """Filter trades; per ticker the last 4; one output per trade. Returns how many."""
    j = 0
    for i in range(ticker.shape[0]):
        if is_trade[i] != 1:
            continue
        k = ticker[i]
        c = count[k]
        ring_price[k, c & 3] = price[i]
        ring_volume[k, c & 3] = volume[i]
        count[k] = c + 1
        m = 4 if c >= 3 else c + 1
        low = high = ring_price[k, 0]
        total = notional = shares = 0.0
        for q in range(m):
            p, v = ring_price[k, q], ring_volume[k, q]
            low, high = min(low, p), max(high, p)
            total += p
            notional += p * v
            shares += v
        out_ticker[j], out_n[j], out_low[j], out_high[j], out_mean[j] = k, m, low, high, total / m
        out_notional[j], out_volume[j], out_vwap[j], out_cents[j] = notional, shares, notional / shares, price[i] * 100.0  # noqa: E501
        j += 1
    return j
# fmt: on


@nb.njit(nogil=True, cache=True, error_model="numpy")
def filter_rows(seq, ticker, price, volume, out_seq, out_ticker, out_price, out_volume):  # type: ignore[no-untyped-def]
    """price > 50 and volume < 500; writes every row and moves on where it passes, 4.5 times as fast as branching."""
    j = 0
    for i in range(seq.shape[0]):
        out_seq[j], out_ticker[j], out_price[j], out_volume[j] = seq[i], ticker[i], price[i], volume[i]
        j += (price[i] > 50.0) & (volume[i] < 500.0)
    return j


@nb.njit(nogil=True, cache=True, error_model="numpy")
def project_rows(price, volume, out_notional, out_per_share, out_blend):  # type: ignore[no-untyped-def]
    """Three arithmetic expressions; numpy's error model lets the division be vectorised."""
    for i in range(price.shape[0]):
        out_notional[i] = price[i] * volume[i]
        out_per_share[i] = (price[i] - 50.0) / volume[i]
        out_blend[i] = price[i] * 1.01 + volume[i] * 0.5
    return price.shape[0]
