"""Quotes of a market, as a function of offsets: symbol, time, price and volume; prices walk as those of stocks do.

A quote's time goes by its offset alone, its price by its symbol and time, so that any offset can be asked for at once.
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

from penstock.connectors.trace.keys import zipf_alias
from penstock.connectors.trace.market import OPEN_US, Codes, Floats, Integers
from penstock.connectors.trace.market_tables import base_cents, names_of, volumes
from penstock.connectors.trace.tuple_kernels import Cents, Words, mixed_word, word_of_seed
from penstock.errors import InputError

SYMBOLS = 2836  # traded on NASDAQ on the day of PROACTIVE's dataset
RATE_QUOTES_S = 60_000.0  # its peak
_FLAT_RANKS = 2  # the busiest symbol has about 5 % of all quotes
# A price is the sum of smooth noises, each four times as slow as the one before and twice as high: a random walk.
_NOISES = 7
_FASTEST_S = 0.25
_DAY_S = 23_400.0
_U = np.uint64
_1, _11, _32 = _U(1), _U(11), _U(32)
_LOW_2, _LOW_10, _LOW_12, _LOW_32 = _U(3), _U(1023), _U(4095), _U(0xFFFFFFFF)
_NOISE, _KEY = _U(0xD1B54A32D192ED03), _U(0x9E6C63D0876A9A47)  # odd words that keep the noises apart
_CENTS = 100.0


@dataclass(frozen=True, slots=True)
class Quotes:
    """Quotes at given offsets; `rate_quotes_s` is that of the market's own clock, `volatility` that of a day.

    >>> Quotes(symbols=3)(np.arange(2)).column_names
    ['symbol', 'time_us', 'price', 'volume']
    """

    symbols: int = SYMBOLS
    rate_quotes_s: float = RATE_QUOTES_S
    volatility: float = 0.2
    seed: int = 7

    def __post_init__(self) -> None:
        if not isinstance(self.symbols, int) or not 1 <= self.symbols < 2**31:
            raise InputError(f"quotes need a whole number of symbols of at least 1; got {self.symbols!r}")
        for name in ("rate_quotes_s", "volatility"):
            if not 0 < getattr(self, name) < np.inf:
                raise InputError(f"quotes need a positive number as {name}; got {getattr(self, name)!r}")

    def __call__(self, offsets: npt.NDArray[np.int64]) -> pa.Table:
        rows = len(offsets)
        codes, times_us = np.empty(rows, np.int32), np.empty(rows, np.int64)
        prices, sizes = np.empty(rows), np.empty(rows)
        _kernel()(
            np.ascontiguousarray(offsets, np.int64), word_of_seed(self.seed), _table(self.symbols, self.seed),
            base_cents(self.seed), volumes(), 1e6 / self.rate_quotes_s, self.volatility,
            codes, times_us, prices, sizes,
        )  # fmt: skip
        symbols = pa.DictionaryArray.from_arrays(pa.array(codes), names_of(self.symbols))
        return pa.table({"symbol": symbols, "time_us": times_us, "price": prices, "volume": sizes})


@functools.lru_cache(maxsize=8)
def _table(symbols: int, seed: int) -> Words:
    return zipf_alias(symbols, seed, _FLAT_RANKS)


def _height_at(key_word: np.uint64, place: np.int64, seed_word: np.uint64) -> float:
    """A number in -1..1 for each point of a symbol's noise."""
    word = mixed_word(key_word ^ (_U(place) * _NOISE), seed_word)
    return np.float64(word >> _11) / 4503599627370496.0 - 1.0  # 2^52


_height: Any = njit(forceinline=True)(_height_at)


def _walk_at(key_word: np.uint64, time_s: float, volatility: float, seed_word: np.uint64) -> float:
    length_s = _FASTEST_S
    total = 0.0
    for noise in range(_NOISES):
        own = key_word + _U(noise) * _KEY
        along = time_s / length_s
        place = np.int64(along)
        share = along - place
        share = share * share * (3.0 - 2.0 * share)  # smooth at the points
        before, after = _height(own, place, seed_word), _height(own, place + 1, seed_word)
        total += np.sqrt(length_s / _DAY_S) * (before + share * (after - before))
        length_s *= 4.0
    return volatility * total


_walk: Any = njit(forceinline=True)(_walk_at)


def _fill(
    offsets: Integers, seed_word: np.uint64, table: Words, base: Cents, lots: Floats, us_per_quote: float,
    volatility: float, codes: Codes, times_us: Integers, prices: Floats, sizes: Floats,
) -> None:  # fmt: skip
    symbols = _U(len(table))
    for i in range(len(offsets)):
        word = mixed_word(_U(offsets[i]), seed_word)
        drawn = (word >> _32) * symbols
        code = drawn >> _32
        entry = table[code]
        code = code if (drawn & _LOW_32) < (entry >> _32) else entry & _LOW_32
        past_us = np.int64(offsets[i] * us_per_quote)
        middle = base[code & _LOW_12] * np.exp(_walk((code + _1) * _NOISE, past_us / 1e6, volatility, seed_word))
        side = np.float64(word & _LOW_2) - 1.5  # bids and asks stand up to a cent and a half off the middle
        codes[i] = code
        times_us[i] = OPEN_US + past_us
        prices[i] = max(np.rint(middle + side), 1.0) / _CENTS
        sizes[i] = lots[(word >> _11) & _LOW_10]


@functools.cache
def _kernel() -> Callable[..., None]:
    def read_only(type_: types.Type) -> types.Array:
        return types.Array(type_, 1, "C", readonly=True)

    given = read_only(types.int64), types.uint64, read_only(types.uint64), read_only(types.int32)
    filled = types.int32[::1], types.int64[::1], types.float64[::1], types.float64[::1]
    signature = types.void(*given, read_only(types.float64), types.float64, types.float64, *filled)
    kernel: Callable[..., None] = njit(signature, nogil=True, cache=True, error_model="numpy")(_fill)
    return kernel
