"""Tuples from offsets: a mixed word per offset, whose bits choose ticker, type, price and volume.

A hot path: one pass writes all five attributes, about 300 M tuples/s on one core while a block stays in the cache; the
plain version that it must equal is in tests/property/connectors/test_trace.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, types

from penstock.connectors.trace.market import Codes, Floats, Integers

Words = npt.NDArray[np.uint64]
Cents = npt.NDArray[np.int32]

_U = np.uint64
# splitmix64 (Steele, Lea, Flood 2014): the golden ratio as increment, and the constants of its finaliser
_INCREMENT, _FIRST, _SECOND = _U(0x9E3779B97F4A7C15), _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)
_1, _11, _27, _30, _31, _32 = _U(1), _U(11), _U(27), _U(30), _U(31), _U(32)
_LOW_10, _LOW_12, _LOW_32 = _U(1023), _U(4095), _U(0xFFFFFFFF)
_HALF_WIGGLE = 512
_WIGGLE_BITS = 16  # a wiggle of 512 is 512 / 2^16, or 0.8 %, of the base price
_CENTS = 100.0


def word_of_seed(seed: int) -> int:
    """Where a seed's sequence of words begins; any whole number gives one of its own."""
    word = (seed + int(_INCREMENT)) % 2**64
    for shift, factor in ((30, int(_FIRST)), (27, int(_SECOND))):
        word = (word ^ (word >> shift)) * factor % 2**64
    return word ^ (word >> 31)


def _mix(offset: np.uint64, seed_word: np.uint64) -> np.uint64:
    word = offset * _INCREMENT + seed_word
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


mixed_word: Any = njit(forceinline=True)(_mix)


# Bits of a word: 0 the type, 1-10 the wiggle, 11-20 the volume, 32-63 the ticker.
def _put_rest(
    word: np.uint64, code: np.uint64, i: int, base: Cents, lots: Floats, ttype: Codes, price: Floats, volume: Floats
) -> None:
    ttype[i] = word & _1
    cents = np.int64(base[code & _LOW_12])
    wiggle = np.int64((word >> _1) & _LOW_10) - _HALF_WIGGLE
    price[i] = np.float64(cents + ((cents * wiggle) >> _WIGGLE_BITS)) / _CENTS
    volume[i] = lots[(word >> _11) & _LOW_10]


_rest: Any = njit(forceinline=True)(_put_rest)


def _fill_uniform(
    start: int, seed_word: np.uint64, keys: np.uint64, base: Cents, lots: Floats,
    seq: Integers, ticker: Codes, ttype: Codes, price: Floats, volume: Floats,
) -> None:  # fmt: skip
    for i in range(len(seq)):
        word = mixed_word(_U(start + i), seed_word)
        code = ((word >> _32) * keys) >> _32
        seq[i] = start + i
        ticker[i] = code
        _rest(word, code, i, base, lots, ttype, price, volume)


def _fill_weighted(
    start: int, seed_word: np.uint64, table: Words, base: Cents, lots: Floats,
    seq: Integers, ticker: Codes, ttype: Codes, price: Floats, volume: Floats,
) -> None:  # fmt: skip
    keys = _U(len(table))
    for i in range(len(seq)):
        word = mixed_word(_U(start + i), seed_word)
        drawn = (word >> _32) * keys
        code = drawn >> _32
        entry = table[code]
        code = code if (drawn & _LOW_32) < (entry >> _32) else entry & _LOW_32
        seq[i] = start + i
        ticker[i] = code
        _rest(word, code, i, base, lots, ttype, price, volume)


def _fill_given(
    start: int, seed_word: np.uint64, base: Cents, lots: Floats,
    seq: Integers, ticker: Codes, ttype: Codes, price: Floats, volume: Floats,
) -> None:  # fmt: skip
    for i in range(len(seq)):
        seq[i] = start + i
        _rest(mixed_word(_U(start + i), seed_word), _U(ticker[i]), i, base, lots, ttype, price, volume)


_FIXED = (types.Array(types.int32, 1, "C", readonly=True), types.Array(types.float64, 1, "C", readonly=True))
_COLUMNS = (types.int64[::1], types.int32[::1], types.int32[::1], types.float64[::1], types.float64[::1])


@functools.cache
def fill_uniform() -> Callable[..., None]:
    """Every key as likely: (start, seed word, number of keys, base prices, volumes, five columns to fill)."""
    return _compiled(_fill_uniform, types.uint64)


@functools.cache
def fill_weighted() -> Callable[..., None]:
    """Keys by an alias table: (start, seed word, table, base prices, volumes, five columns to fill)."""
    return _compiled(_fill_weighted, types.Array(types.uint64, 1, "C", readonly=True))


@functools.cache
def fill_given() -> Callable[..., None]:
    """Keys that are in the ticker column already: (start, seed word, base prices, volumes, five columns to fill)."""
    return _compiled(_fill_given)


def _compiled(function: Callable[..., None], *keys: Any) -> Callable[..., None]:
    signature = types.void(types.int64, types.uint64, *keys, *_FIXED, *_COLUMNS)
    kernel: Callable[..., None] = njit(signature, nogil=True, cache=True, error_model="numpy")(function)
    return kernel
