"""What all generated market data share: ticker names and their popularity, arrival times, prices and sizes."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

TICK = 0.01  # the price grid of US stocks, dollars
LOT = 100  # shares in a round lot
OPEN_US = int(9.5 * 3600 * 1_000_000)  # 09:30 and 16:00, as microseconds of the day
CLOSE_US = 16 * 3600 * 1_000_000
_DAILY_VOLATILITY = 0.02


def generator(seed: int, stream: str) -> np.random.Generator:
    """A random generator of its own for each kind of data, so that one kind never shifts another."""
    return np.random.default_rng([seed, *stream.encode()])


def ticker_names(count: int) -> pa.Array:
    """Distinct names of one to four letters and, beyond those, longer ones.

    >>> ticker_names(28).to_pylist()[-3:]
    ['Z', 'AA', 'BA']
    """
    letters = string.ascii_uppercase
    names: list[str] = []
    length = 1
    while len(names) < count:
        in_length = min(len(letters) ** length, count - len(names))
        names += [
            "".join(letters[i // len(letters) ** k % len(letters)] for k in range(length)) for i in range(in_length)
        ]
        length += 1
    return pa.array(names, pa.string())


def zipf_weights(count: int, exponent: float = 1.0) -> Floats:
    """Probabilities that fall with the rank r as 1 / (r + 3)^exponent: a flat top and a long tail."""
    weights = 1.0 / (np.arange(count) + 3.0) ** exponent
    return np.asarray(weights / weights.sum())


def draw_codes(rng: np.random.Generator, rows: int, weights: Floats) -> Codes:
    """A code per row, drawn by weight; weights are shuffled first, so that popularity does not follow the name."""
    order = rng.permutation(len(weights)).astype(np.int32)
    ranks = np.searchsorted(np.cumsum(weights)[:-1], rng.random(rows), side="right")
    return np.asarray(order[ranks])


def session_times_us(rng: np.random.Generator, rows: int, start_us: int = OPEN_US, stop_us: int = CLOSE_US) -> Integers:
    """Strictly increasing microseconds in [start, stop), dense at the open and the close as trading days are."""
    is_uniform = rng.random(rows) < 0.6
    share = np.where(is_uniform, rng.random(rows), rng.beta(0.5, 0.6, rows))
    span_us = stop_us - start_us - rows
    if span_us < 0:
        raise InputError(f"a session has one row per microsecond at most, {stop_us - start_us}; got {rows} rows")
    share.sort()
    # One more microsecond per row keeps the times apart.
    return np.asarray(start_us + np.minimum(share * span_us, span_us - 1).astype(np.int64) + np.arange(rows))


def opening_prices(rng: np.random.Generator, count: int) -> Floats:
    """A price per ticker, log-normal around 30 dollars."""
    return np.asarray(np.maximum(np.exp(rng.normal(np.log(30.0), 0.8, count)), 1.0))


def price_walks(rng: np.random.Generator, codes: Codes, opening: Floats) -> Floats:
    """A geometric random walk for each ticker along its own rows; not yet on the price grid.

    Steps are scaled so that a ticker's whole walk has the volatility of a day, however many rows it has.
    """
    order, starts = grouped(codes)
    counts = np.bincount(codes, minlength=len(opening))
    scale = _DAILY_VOLATILITY * np.exp(rng.normal(0.0, 0.4, len(opening))) / np.sqrt(np.maximum(counts, 1))
    sorted_codes = codes[order]
    steps = rng.standard_normal(len(codes)) * scale[sorted_codes]
    walks = np.empty(len(codes))
    walks[order] = opening[sorted_codes] * np.exp(cumulative_sums(steps, starts))
    return walks


def on_grid(prices: Floats) -> Floats:
    """Prices on the tick grid, one tick at least."""
    ticks = np.maximum(np.rint(prices / TICK), 1.0)
    return np.asarray(ticks / round(1 / TICK))  # dividing by 100 gives the float nearest to the decimal


def lot_sizes(rng: np.random.Generator, rows: int, typical_lots: float = 2.0) -> Integers:
    """Shares in round lots, log-normal."""
    lots = np.rint(np.exp(rng.normal(np.log(typical_lots), 1.0, rows)))
    return np.asarray(np.maximum(lots, 1.0).astype(np.int64) * LOT)


def grouped(codes: Codes) -> tuple[Integers, Integers]:
    """Row numbers sorted by code (rows of one code in their order), and where each group of them starts."""
    # Numpy sorts 16-bit keys by radix, some ten times faster.
    keys = codes.astype(np.uint16) if codes.size and codes.max() < 2**16 else codes
    order = np.argsort(keys, kind="stable")
    sorted_codes = codes[order]
    is_start = np.ones(len(codes), np.bool_)
    is_start[1:] = sorted_codes[1:] != sorted_codes[:-1]
    return order, np.flatnonzero(is_start)


def cumulative_sums(values: npt.NDArray[Any], starts: Integers) -> Floats:
    """Cumulative sums that begin anew at each start."""
    sums = np.cumsum(values, dtype=np.float64)
    before = np.concatenate([[0.0], sums[starts[1:] - 1]]) if len(starts) else np.empty(0)
    return np.asarray(sums - np.repeat(before, np.diff(np.append(starts, len(values)))))


def texts(codes: Codes, names: pa.Array) -> pa.Array:
    """The name of each code, as plain strings."""
    return names.take(pa.array(codes))
