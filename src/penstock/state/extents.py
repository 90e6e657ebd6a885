"""Where the units of a slot lie: a slot owns extents that grow with it, four to each doubling.

Measured against a fixed range of 65,536 rows per slot: such ranges begin at the same place of a page, so that the rows
in use crowd into few sets of the cache (21 against 18 ns a tuple at 2,836 keys), and a slot that outgrows its range has
to be laid out anew while others read it.  Extents are dense, never move, and waste at most a quarter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Integers = npt.NDArray[np.int64]

# Enough for 2^26 times the first extent.
EXTENTS_MAX = 104
_EQUAL_EXTENTS = 8


def _bits(value):  # type: ignore[no-untyped-def]
    count = 0
    while value:
        value >>= 1
        count += 1
    return count


bits: Any = njit(_bits)


def _locate(table, slot, local, shift):  # type: ignore[no-untyped-def]
    """The unit of a slot's `local`-th one: extents 0-7 have one unit << shift, 8-11 two, 12-15 four, and so on."""
    part = local >> shift
    if part < 8:
        return table[slot, part] + local - (part << shift)
    double = bits(part) - 1
    quarter = (part >> (double - 2)) & 3
    start = ((4 + quarter) << (double - 2)) << shift
    return table[slot, 4 * (double - 1) + quarter] + local - start


locate: Any = njit(_locate)


def _extent_end(local, shift):  # type: ignore[no-untyped-def]
    """The first local number behind the extent that holds this one."""
    part = local >> shift
    if part < 8:
        return (part + 1) << shift
    double = bits(part) - 1
    quarter = (part >> (double - 2)) & 3
    return ((5 + quarter) << (double - 2)) << shift


extent_end: Any = njit(_extent_end)


def extents_for(counts: Integers, shift: int) -> Integers:
    """How many extents hold so many units."""
    last = np.maximum(counts - 1, 0) >> shift
    double = np.frexp(np.maximum(last, 1).astype(np.float64))[1].astype(np.int64) - 1
    quarter = (last >> np.maximum(double - 2, 0)) & 3
    place = np.where(last < _EQUAL_EXTENTS, last, 4 * (double - 1) + quarter)
    return np.where(counts > 0, place + 1, 0)


def extent_units(extents: Integers, shift: int) -> Integers:
    """How many units an extent has."""
    units: Integers = np.left_shift(1, np.maximum(extents // 4 - 1, 0) + shift).astype(np.int64)
    return units
