"""Dense ids of 64-bit keys: a direct table for small values, open addressing for the others."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numba import njit, types

from penstock.block.column import Mask

Integers = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]

DIRECT_VALUES_MAX = 1 << 20
_DIRECT_VALUES_AT_FIRST = 1 << 10
_KEYS_AT_FIRST = 1 << 10
# Odd, about 2^64 divided by the golden ratio: the high bits of its products spread well.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
NO_MASK: Mask = np.ones(0, np.bool_)


class IntegerKeys:
    """Gives each distinct int64 (and null) an id: 0, 1, 2, ... in order of first appearance."""

    __slots__ = ("_counts", "_direct", "_keys", "_table")

    def __init__(self) -> None:
        self._direct = np.zeros(_DIRECT_VALUES_AT_FIRST, np.int32)  # value -> id + 1
        self._table = np.zeros((2 * _KEYS_AT_FIRST, 2), np.int64)  # key, id + 1
        self._keys = np.zeros(_KEYS_AT_FIRST, np.int64)
        self._counts = np.zeros(3, np.int64)  # keys, keys in the table, id + 1 of null

    @property
    def count(self) -> int:
        return int(self._counts[0])

    @property
    def null_id(self) -> int | None:
        return int(self._counts[2]) - 1 if self._counts[2] else None

    @property
    def keys(self) -> Integers:
        """The key of each id; that of null is 0."""
        return self._keys[: self.count]

    @property
    def state_bytes(self) -> int:
        return self._direct.nbytes + self._table.nbytes + self._keys.nbytes

    def assign(self, values: npt.NDArray[np.int32] | Integers, valid: Mask | None) -> Ids:
        ids = np.empty(len(values), np.int32)
        kernel = _kernel(values.dtype == np.int32)
        mask, row = NO_MASK if valid is None else np.ascontiguousarray(valid), 0
        while row < len(values):
            row = kernel(values, mask, row, self._direct, self._table, self._keys, self._counts, ids)
            if row < len(values):
                self._reserve(int(values[row]))
        return ids

    def _reserve(self, value: int) -> None:
        """Doubles whatever stopped the kernel at this value."""
        if self.count == len(self._keys):
            self._keys = np.concatenate((self._keys, np.zeros_like(self._keys)))
        if 2 * self._counts[1] >= len(self._table):
            table = np.zeros((2 * len(self._table), 2), np.int64)
            _move_kernel()(self._table, table)
            self._table = table
        if len(self._direct) <= value < DIRECT_VALUES_MAX:
            direct = np.zeros(1 << value.bit_length(), np.int32)
            direct[: len(self._direct)] = self._direct
            self._direct = direct


def _assign(values, valid, start, direct, table, keys, counts, ids):  # type: ignore[no-untyped-def]
    """Fills ids from row `start`; the row at which some table lacks room, or the number of rows."""
    shift = np.uint64(64)
    size = len(table)
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    last = np.uint64(len(table) - 1)
    masked = len(valid) > 0
    for i in range(start, len(values)):
        value = np.int64(values[i])
        if masked and not valid[i]:
            if counts[2] == 0:
                if counts[0] == len(keys):
                    return i
                counts[0] += 1
                counts[2] = counts[0]
            ids[i] = counts[2] - 1
            continue
        if np.uint64(value) < np.uint64(len(direct)):
            near = np.uint64(value)
            found = direct[near]
            if found == 0:
                if counts[0] == len(keys):
                    return i
                keys[counts[0]] = value
                counts[0] += 1
                found = counts[0]
                direct[near] = found
            ids[i] = found - 1
            continue
        if np.uint64(value) < np.uint64(DIRECT_VALUES_MAX):
            return i
        place = (np.uint64(value) * _SPREAD) >> shift
        while table[place, 1] != 0 and table[place, 0] != value:
            place = (place + np.uint64(1)) & last
        if table[place, 1] == 0:
            if counts[0] == len(keys) or 2 * counts[1] >= len(table):
                return i
            keys[counts[0]] = value
            counts[0] += 1
            counts[1] += 1
            table[place, 0] = value
            table[place, 1] = counts[0]
        ids[i] = table[place, 1] - 1
    return len(values)


def _move(old, new):  # type: ignore[no-untyped-def]
    """Puts the entries of one table into a bigger one."""
    shift = np.uint64(64)
    size = len(new)
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    last = np.uint64(len(new) - 1)
    for i in range(len(old)):
        if old[i, 1] != 0:
            place = (np.uint64(old[i, 0]) * _SPREAD) >> shift
            while new[place, 1] != 0:
                place = (place + np.uint64(1)) & last
            new[place, 0] = old[i, 0]
            new[place, 1] = old[i, 1]


def readonly(type_: types.Type) -> types.Array:
    """The numba type of a contiguous array that a kernel only reads: it then takes Arrow's memory as well."""
    return types.Array(type_, 1, "C", readonly=True)


@functools.cache
def _kernel(narrow: bool) -> Callable[..., int]:
    values = readonly(types.int32 if narrow else types.int64)
    tables = (types.int32[::1], types.int64[:, ::1], types.int64[::1], types.int64[::1], types.int32[::1])
    signature = types.int64(values, readonly(types.boolean), types.int64, *tables)
    kernel: Callable[..., int] = njit(signature, nogil=True, cache=True)(_assign)
    return kernel


@functools.cache
def _move_kernel() -> Callable[..., None]:
    tables = types.int64[:, ::1]
    kernel: Callable[..., None] = njit(types.void(tables, tables), nogil=True, cache=True)(_move)
    return kernel
