"""Limits of count windows per key: one loop per kind and size, the size being a constant to the compiler.

A sliding window of 1,000 tuples has count, sum and mean alone, and its sum adds the newest and subtracts the oldest:
the fastest there is, though it drifts and never forgets a NaN, which is why the engine does without it.
"""

from __future__ import annotations

from collections.abc import Callable

import numba as nb
import numpy as np

from benchmarks.kernels.loop import Array

LoopFunction = Callable[..., int]
_HEAD = np.dtype([("slot", np.int32), ("held", np.int32), ("total", np.float64)])


def window_buffers(kind: str, size: int, keys: int, rows: int) -> tuple[tuple[Array, ...], dict[str, Array]]:
    """State and outputs of the loop for one kind and size; pages are touched here, not in the measured loop."""
    outputs: dict[str, Array] = {
        "ticker": np.zeros(rows, np.int32),
        "n": np.zeros(rows, np.int64),
        "total": np.zeros(rows),
    }
    if kind == "tumbling" or size < 1000:
        outputs |= {"low": np.zeros(rows), "high": np.zeros(rows)}
    outputs["mean"] = np.zeros(rows)
    if kind == "tumbling":
        return (np.tile(np.array((0.0, 0.0, np.inf, -np.inf)), (keys, 1)),), outputs
    ring = np.full((keys, size), 0.0)
    return (ring, np.full(keys, 0) if size < 1000 else np.zeros(keys, _HEAD)), outputs


def window_loop(kind: str, size: int) -> LoopFunction:
    """The loop for one kind and size."""
    if kind == "tumbling":
        return _tumbling(size)
    return _sliding_sum(size) if size >= 1000 else _sliding(size)


def _tumbling(size: int) -> LoopFunction:
    """A key's count, sum, minimum and maximum lie side by side: 1.4 times as fast as four arrays."""

    @nb.njit(nogil=True, cache=True, error_model="numpy")
    def tumbling(ticker, price, held, out_ticker, out_n, out_total, out_low, out_high, out_mean):  # type: ignore[no-untyped-def]
        j = 0
        for i in range(ticker.shape[0]):
            k, p = ticker[i], price[i]
            count, total = held[k, 0] + 1.0, held[k, 1] + p
            low, high = min(held[k, 2], p), max(held[k, 3], p)
            if count == size:
                out_ticker[j], out_n[j], out_total[j] = k, size, total
                out_low[j], out_high[j], out_mean[j] = low, high, total / size
                j += 1
                held[k, 0], held[k, 1], held[k, 2], held[k, 3] = 0.0, 0.0, np.inf, -np.inf
            else:
                held[k, 0], held[k, 1], held[k, 2], held[k, 3] = count, total, low, high
        return j

    loop: LoopFunction = tumbling
    return loop


def _sliding(size: int) -> LoopFunction:
    """A full ring is read by a loop of constant length, which the compiler unrolls."""

    @nb.njit(nogil=True, cache=True, error_model="numpy")
    def sliding(ticker, price, ring, count, out_ticker, out_n, out_total, out_low, out_high, out_mean):  # type: ignore[no-untyped-def]
        for i in range(ticker.shape[0]):
            k = ticker[i]
            c = count[k]
            ring[k, c % size] = price[i]
            count[k] = c + 1
            low = high = ring[k, 0]
            total = 0.0
            m = size
            if c >= size - 1:
                for q in range(size):
                    p = ring[k, q]
                    low, high, total = min(low, p), max(high, p), total + p
            else:
                m = c + 1
                for q in range(m):
                    p = ring[k, q]
                    low, high, total = min(low, p), max(high, p), total + p
            out_ticker[i], out_n[i], out_total[i] = k, m, total
            out_low[i], out_high[i], out_mean[i] = low, high, total / m
        return ticker.shape[0]

    loop: LoopFunction = sliding
    return loop


def _sliding_sum(size: int) -> LoopFunction:
    """What a key has besides its ring lies side by side: one access to memory less, which is what bounds the rate."""

    @nb.njit(nogil=True, cache=True, error_model="numpy")
    def sliding_sum(ticker, price, ring, heads, out_ticker, out_n, out_total, out_mean):  # type: ignore[no-untyped-def]
        for i in range(ticker.shape[0]):
            k, p = ticker[i], price[i]
            slot, held = heads[k].slot, heads[k].held
            # a ring that is not full yet holds zeros, so that the same subtraction serves
            total = heads[k].total + p - ring[k, slot]
            held += held < size
            ring[k, slot], heads[k].total, heads[k].held = p, total, held
            heads[k].slot = 0 if slot == size - 1 else slot + 1
            out_ticker[i], out_n[i], out_total[i], out_mean[i] = k, held, total, total / held
        return ticker.shape[0]

    loop: LoopFunction = sliding_sum
    return loop
