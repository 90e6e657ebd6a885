"""When tuples arrive: how many have come by a moment, and the moment at which each one comes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, types

from penstock.connectors.trace.market import Floats, Integers
from penstock.connectors.trace.rates import SHAPES


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """A schedule: `counts[i]` tuples have come by `edges_s[i]`, evenly in between; all of it again if it `repeats`.

    Both begin at 0 and never fall.  Tuple n comes at the last moment at which no more than n tuples had come, so that
    at a constant rate it comes at n / rate.
    """

    edges_s: Floats
    counts: Floats
    repeats: bool

    @property
    def total(self) -> int | None:
        """How many tuples come in all; None where the schedule repeats."""
        return None if self.repeats else math.ceil(float(self.counts[-1]))

    def arrived_by(self, time_s: float) -> int:
        """How many tuples come before a moment: exactly those whose `arrival_s` is less."""
        if time_s <= 0:
            return 0
        period, rest_s = divmod(time_s, float(self.edges_s[-1])) if self.repeats else (0.0, time_s)
        count = math.ceil(float(period * self.counts[-1] + np.interp(rest_s, self.edges_s, self.counts)))
        # The two ways are inverse but for rounding, and the tuples' own moments decide.
        while count > 0 and self._arrival_s(count - 1) >= time_s:
            count -= 1
        while self._arrival_s(count) < time_s:
            count += 1
        return count

    def arrival_s(self, offsets: npt.NDArray[np.int64]) -> Floats:
        """The moment at which each tuple comes, infinity for those that never do; fastest where offsets ascend."""
        times = np.empty(len(offsets))
        _moments()(np.ascontiguousarray(offsets, np.int64), self.edges_s, self.counts, self.repeats, times)
        return times

    def rate_tuples_s(self, time_s: float) -> float:
        """The scheduled rate at a moment."""
        end_s = float(self.edges_s[-1])
        if time_s < 0 or (time_s >= end_s and not self.repeats):
            return 0.0
        piece = int(np.searchsorted(self.edges_s, time_s % end_s, side="right")) - 1
        return float((self.counts[piece + 1] - self.counts[piece]) / (self.edges_s[piece + 1] - self.edges_s[piece]))

    def _arrival_s(self, offset: int) -> float:
        return float(self.arrival_s(np.array([offset]))[0])


def generated_arrivals(
    rate: str, rate_tuples_s: float, seed: int, speed_up: float = 1.0, period_s: float | None = None
) -> Arrivals:
    """The schedule of a rate by name: `rate_tuples_s` on average, its period passed `speed_up` times as fast.

    >>> arrivals = generated_arrivals("step", 30.0, seed=1, period_s=10.0)
    >>> arrivals.arrived_by(5.0), arrivals.arrived_by(10.0), arrivals.arrived_by(20.0)
    (100, 300, 600)
    """
    shape = SHAPES[rate]
    edges, rates = shape.pieces(seed)
    edges_s = edges * ((shape.period_s if period_s is None else period_s) / speed_up)
    return Arrivals(edges_s, _from_zero(rates * np.diff(edges_s) * rate_tuples_s), repeats=True)


def counted_arrivals(edges_s: Floats, counts: Integers) -> Arrivals:
    """The schedule of whole tuples counted in intervals, which ends with the last of them."""
    return Arrivals(edges_s, _from_zero(counts), repeats=False)


def _from_zero(counts: npt.NDArray[Any]) -> Floats:
    return np.concatenate([[0.0], np.cumsum(counts, dtype=np.float64)])


def _fill_moments(offsets: Integers, edges_s: Floats, counts: Floats, repeats: bool, times: Floats) -> None:
    last, whole, period_s = len(counts) - 2, counts[-1], edges_s[-1]
    piece = 0
    for i in range(len(offsets)):
        rest, begin_s = float(offsets[i]), 0.0
        if repeats:
            periods = math.floor(rest / whole)
            rest = max(rest - periods * whole, 0.0)
            if rest >= whole:  # by rounding
                periods, rest = periods + 1, 0.0
            begin_s = periods * period_s
        elif rest >= whole:
            times[i] = np.inf
            continue
        if rest < counts[piece]:
            piece = 0
        if rest >= counts[piece + 1]:
            piece = _piece_of(rest, piece, counts, last)
        within = (rest - counts[piece]) / (counts[piece + 1] - counts[piece])
        times[i] = begin_s + edges_s[piece] + min(within, 1.0) * (edges_s[piece + 1] - edges_s[piece])


def _search_piece(rest: float, piece: int, counts: Floats, last: int) -> int:
    """The last piece that begins with no more than `rest` tuples: the next few are tried first, then halves."""
    low, reach = piece + 1, 1
    while low + reach <= last and counts[low + reach] <= rest:
        low, reach = low + reach, 2 * reach
    high = min(low + reach, last + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if counts[middle] <= rest:
            low = middle
        else:
            high = middle
    return min(low, last)


_piece_of: Any = njit(nogil=True, cache=True)(_search_piece)


@functools.cache
def _moments() -> Callable[..., None]:
    given = types.Array(types.int64, 1, "C", readonly=True)
    doubles = types.float64[::1]
    signature = types.void(given, doubles, doubles, types.boolean, doubles)
    kernel: Callable[..., None] = njit(signature, nogil=True, cache=True, error_model="numpy")(_fill_moments)
    return kernel
