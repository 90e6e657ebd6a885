"""Random numbers inside kernels: SplitMix64, one state per stream of numbers, so that streams leave each other alone.

The i-th draw of a stream depends on its seed and i alone: candidates of a search meet the same arrivals and services.
"""

from __future__ import annotations

import zlib
from math import log
from typing import Any

import numpy as np

from penstock.simulate.events.kernel.compiled import inlined

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / 9007199254740992.0  # 2 ** -53


@inlined
def mixed(state: Any) -> Any:
    """SplitMix64's output function (Steele, Lea, Flood 2014)."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@inlined
def stepped(state: Any) -> Any:
    return state + _GOLDEN


@inlined
def unit(state: Any) -> float:
    """A number above 0 and at most 1 out of a state."""
    return (np.float64(mixed(state) >> np.uint64(11)) + 1.0) * _TO_UNIT


@inlined
def exponential_unit(state: Any) -> float:
    """Exponential with mean 1."""
    return -log(unit(state))


def stream_seed(seed: int, name: str, use: str) -> int:
    """The first state of a stream of numbers, by who draws them and what for."""
    text = f"{seed}/{use}/{name}".encode()
    word = (zlib.crc32(text) << 32) | zlib.crc32(text[::-1])
    return int(mixed(np.uint64(word)))


def numbers(seed: int, name: str, use: str, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The first exponential numbers of mean 1 of a stream, as the kernels draw them."""
    first = np.uint64(stream_seed(seed, name, use))
    with np.errstate(over="ignore"):
        states = first + np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN
        z = states
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
        z = z ^ (z >> np.uint64(31))
    return np.asarray(-np.log(((z >> np.uint64(11)).astype(np.float64) + 1.0) * _TO_UNIT))
