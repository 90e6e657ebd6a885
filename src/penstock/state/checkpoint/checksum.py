"""A checksum of 64-bit words, several times faster than a byte-wise one and as good against torn or swapped pages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Words = npt.NDArray[np.int64]
Checksums = npt.NDArray[np.uint64]

_SEED = np.uint64(0x8EBC6AF09C88C6E3)
_PRIME = np.uint64(0x9FB21C651E98DF25)
_SHIFT = np.uint64(29)


def checksums(words: Words, starts: Words, stops: Words) -> Checksums:
    """The checksum of each range of words."""
    found: Checksums = np.empty(len(starts), np.uint64)
    _kernel()(words.view(np.uint64), starts, stops, found)
    return found


def checksum(data: bytes) -> int:
    """The checksum of some bytes, filled up with zeros to whole words, and their length."""
    padded = np.frombuffer(data + bytes(-len(data) % 8), np.int64)
    words = np.append(padded, len(data)).astype(np.int64)
    return int(checksums(words, np.zeros(1, np.int64), np.array([len(words)]))[0])


def _fold(words, starts, stops, found):  # type: ignore[no-untyped-def]
    """Four lanes, so that four multiplications are under way at once."""
    for k in range(len(starts)):
        start, stop = starts[k], stops[k]
        a, b, c, d = _SEED, _SEED + np.uint64(1), _SEED + np.uint64(2), np.uint64(stop - start)
        i = start
        while i + 4 <= stop:
            a = (a ^ words[i]) * _PRIME
            b = (b ^ words[i + 1]) * _PRIME
            c = (c ^ words[i + 2]) * _PRIME
            d = (d ^ words[i + 3]) * _PRIME
            a ^= a >> _SHIFT
            b ^= b >> _SHIFT
            c ^= c >> _SHIFT
            d ^= d >> _SHIFT
            i += 4
        while i < stop:
            a = (a ^ words[i]) * _PRIME
            a ^= a >> _SHIFT
            i += 1
        whole = ((a * _PRIME + b) * _PRIME + c) * _PRIME + d
        found[k] = whole ^ (whole >> np.uint64(32))


@functools.cache
def _kernel() -> Callable[..., Any]:
    kernel: Callable[..., Any] = njit(nogil=True, cache=True)(_fold)
    return kernel
