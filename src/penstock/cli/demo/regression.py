"""The price of each window as a polynomial of time: quotes averaged by resolution interval, then least squares.

A polynomial is linear in its coefficients, so what Levenberg-Marquardt (PROACTIVE uses lmfit) iterates towards is the
one optimum of linear least squares; polynomials orthogonal on the points (Forsythe 1957) give it in one pass per degree
and without a matrix.  Times are counted from the window's last quote, in units of the window's span.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit, types

from penstock.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
_HIGHEST_DEGREE = 9
_SECOND_US = 1e6

SCHEMA = {
    "symbol": "symbol",
    "time_us": "int64",
    "open": "float64",
    "high": "float64",
    "low": "float64",
    "close": "float64",
    "points": "int64",
    "forecast": "float64",
    "error": "float64",
    "coefficients": "list<float64>",
}


@dataclass(frozen=True, slots=True)
class Regression:
    """A block of windows in (symbol, time_us, times_us, prices), an estimate for each of them out.

    `forecast` is the polynomial `horizon_us` after the window's last quote, `coefficients` are those of the powers of
    the seconds since that quote, `error` is the root mean square over the `points`; open, high, low and close are of
    the window's newest `every` quotes.  Windows with fewer intervals than coefficients get a lower degree.
    """

    degree: int = 3
    resolution_us: int = 1000
    horizon_us: int = 1000
    every: int = 25

    def __post_init__(self) -> None:
        for name, lowest, highest in (("degree", 0, _HIGHEST_DEGREE), ("resolution_us", 1, None), ("every", 1, None)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < lowest or (highest is not None and value > highest):
                words = f"at least {lowest}" if highest is None else f"{lowest} to {highest}"
                raise InputError(f"a regression needs a whole number as {name}, {words}; got {value!r}")

    def warm_up(self) -> None:
        """Compiles: Penstock calls it in every worker before the stream opens."""
        edges, numbers = np.array([0, 2], np.int64), np.array([0, 1], np.int64)
        fitted(edges, numbers, numbers.astype(np.float64), self.degree, self.resolution_us, self.horizon_us, self.every)

    def __call__(self, block: pa.RecordBatch) -> dict[str, Any]:
        times, prices = block.column("times_us"), block.column("prices")
        offsets = _offsets(times)
        bars, fits, points, coefficients = fitted(
            offsets, _numbers(times, np.int64), _numbers(prices, np.float64), self.degree, self.resolution_us,
            self.horizon_us, self.every,
        )  # fmt: skip
        width = self.degree + 1
        edges = pa.array(np.arange(len(points) + 1, dtype=np.int32) * width)
        return {
            "symbol": block.column("symbol"),
            "time_us": block.column("time_us"),
            **{name: bars[i] for i, name in enumerate(("open", "high", "low", "close"))},
            "points": points,
            "forecast": fits[0],
            "error": fits[1],
            "coefficients": pa.ListArray.from_arrays(edges, pa.array(coefficients.ravel())),
        }


def fitted(
    offsets: Integers, times_us: Integers, prices: Floats, degree: int, resolution_us: int, horizon_us: int, every: int
) -> tuple[Floats, Floats, Integers, Floats]:
    """For windows laid end to end: four bars, (forecast, error), points, and coefficients of each."""
    windows = len(offsets) - 1
    bars, fits = np.empty((4, windows)), np.empty((2, windows))
    points, coefficients = np.empty(windows, np.int64), np.zeros((windows, degree + 1))
    longest = int(np.diff(offsets).max(initial=0))
    scratch, powers = np.empty((5, longest)), np.empty((3, degree + 1))
    _kernel()(
        offsets, times_us, prices, degree, resolution_us, horizon_us, every, scratch, powers,
        bars, fits, points, coefficients,
    )  # fmt: skip
    return bars, fits, points, coefficients


def _offsets(lists: pa.ListArray) -> Integers:
    offsets: Integers = np.asarray(lists.offsets, np.int64)
    return np.asarray(offsets - offsets[0])


def _numbers(lists: pa.ListArray, dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(lists.flatten().to_numpy(zero_copy_only=False), dtype)


def _average_sorted(times_us: Integers, prices: Floats, last_us: int, resolution_us: int, x: Floats, y: Floats) -> int:
    points, i, rows = 0, 0, len(times_us)
    while i < rows:
        end_us = (times_us[i] // resolution_us + 1) * resolution_us
        time_sum, price_sum, count = 0.0, 0.0, 0
        while i < rows and times_us[i] < end_us:
            time_sum += np.float64(times_us[i] - last_us)
            price_sum += prices[i]
            count += 1
            i += 1
        x[points], y[points] = time_sum / count, price_sum / count
        points += 1
    return points


_averaged_sorted: Any = njit(nogil=True, error_model="numpy")(_average_sorted)


def _average_intervals(times_us: Integers, prices: Floats, resolution_us: int, x: Floats, y: Floats) -> int:
    """The mean time (us since the last quote) and price of each resolution interval, oldest first; how many."""
    last_us = times_us[-1]
    for i in range(1, len(times_us)):
        if times_us[i] < times_us[i - 1]:
            order = np.argsort(times_us, kind="mergesort")
            return int(_averaged_sorted(times_us[order], prices[order], last_us, resolution_us, x, y))
    return int(_averaged_sorted(times_us, prices, last_us, resolution_us, x, y))


_averaged: Any = njit(nogil=True, error_model="numpy")(_average_intervals)


def _fit_points(x: Floats, y: Floats, before: Floats, here: Floats, powers: Floats, result: Floats) -> float:
    """Fills the coefficients of the powers of x and gives the sum of squares left; uses y up."""
    degree = min(len(result), len(x)) - 1
    powers[:] = 0.0
    powers[1, 0] = 1.0  # rows: the orthogonal polynomial before, the one at hand, the next
    before[:], here[:], result[:] = 0.0, 1.0, 0.0
    norm_before = 1.0
    for j in range(degree + 1):
        norm = share = middle = 0.0
        for i in range(len(x)):
            square = here[i] * here[i]
            norm += square
            middle += x[i] * square
            share += y[i] * here[i]
        share, middle = share / norm, middle / norm
        back = norm / norm_before if j > 0 else 0.0
        result += share * powers[1]
        for i in range(len(x)):
            y[i] -= share * here[i]
            after = (x[i] - middle) * here[i] - back * before[i]
            before[i], here[i] = here[i], after
        powers[2, 0] = 0.0
        powers[2, 1:] = powers[1, :-1]
        powers[2] -= middle * powers[1] + back * powers[0]
        powers[0], powers[1] = powers[1].copy(), powers[2].copy()
        norm_before = norm
    squares = 0.0
    for i in range(len(y)):
        squares += y[i] * y[i]
    return squares


_fit: Any = njit(nogil=True, error_model="numpy")(_fit_points)


def _estimate(
    offsets: Integers, times_us: Integers, prices: Floats, degree: int, resolution_us: int, horizon_us: int, every: int,
    scratch: Floats, powers: Floats, bars: Floats, fits: Floats, points: Integers, coefficients: Floats,
) -> None:  # fmt: skip
    for w in range(len(offsets) - 1):
        begin, end = offsets[w], offsets[w + 1]
        newest = prices[max(begin, end - every) : end]
        bars[0, w], bars[1, w], bars[2, w], bars[3, w] = newest[0], newest.max(), newest.min(), newest[-1]
        x, y = scratch[0], scratch[1]
        count = _averaged(times_us[begin:end], prices[begin:end], resolution_us, x, y)
        x, y = x[:count], y[:count]
        span_us = max(-x[0], x[-1], 1.0)
        x /= span_us
        result = coefficients[w]
        squares = _fit(x, y, scratch[2][:count], scratch[3][:count], powers, result)
        value, along = 0.0, horizon_us / span_us
        for k in range(degree, -1, -1):
            value = value * along + result[k]
        for k in range(degree + 1):
            result[k] *= (_SECOND_US / span_us) ** k
        points[w], fits[0, w], fits[1, w] = count, value, np.sqrt(squares / count)


@functools.cache
def _kernel() -> Callable[..., None]:
    def read_only(type_: types.Type) -> types.Array:
        return types.Array(type_, 1, "C", readonly=True)

    given = read_only(types.int64), read_only(types.int64), read_only(types.float64)
    numbers, matrix = (types.int64,) * 4, types.float64[:, ::1]
    signature = types.void(*given, *numbers, matrix, matrix, matrix, matrix, types.int64[::1], matrix)
    kernel: Callable[..., None] = njit(signature, nogil=True, cache=True, error_model="numpy")(_estimate)
    return kernel
