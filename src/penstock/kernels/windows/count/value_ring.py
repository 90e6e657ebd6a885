"""The newest values of one column for each group, as they came: what windows are computed from that no terms can give.

A ring lies among the words that its group has in a table: a count of the group's tuples, then one word per value; in
the table of nulls one bit per value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numba import njit, types

from penstock.block.column import Array, FixedColumn, Mask
from penstock.kernels.windows.count.growing import RowTable

Integers = npt.NDArray[np.int64]
_WORD_BITS = 64
_NO_MASK: Mask = np.empty(0, np.bool_)


def ring_words(size: int, about_nulls: bool) -> int:
    """Words of one group's ring."""
    return -(-size // _WORD_BITS) if about_nulls else 1 + size


class ValueRing:
    """The newest `size` values of each group, given out at every `every`-th tuple of the group.

    `start` and `nulls_start`: where the ring begins among a group's words, and among those about nulls.
    """

    def __init__(self, size: int, every: int, start: int, nulls_start: int) -> None:
        self._size, self._every, self._start, self._nulls_start = size, every, start, nulls_start

    def process(
        self,
        groups: npt.NDArray[np.int32],
        table: RowTable,
        nulls: RowTable,
        column: FixedColumn,
        valid: Mask | None,
        fired: int,
    ) -> tuple[Integers, FixedColumn]:
        """Takes a block in which `fired` windows fire: where each one's values begin, and the values, oldest first."""
        offsets = np.zeros(fired + 1, np.int64)
        # Most of it is never touched while windows fill, and thus never becomes memory.
        members = np.empty(fired * self._size, np.int64)
        mask = _NO_MASK if valid is None else np.empty(len(members), np.bool_)
        total = _kernel()(
            np.ascontiguousarray(groups), table.integers, table.words, self._start,
            nulls.integers, nulls.words, self._nulls_start, self._size, self._every,
            _as_words(column.values), _NO_MASK if valid is None else np.ascontiguousarray(valid),
            offsets, members, mask,
        )  # fmt: skip
        retained = None if valid is None or mask[:total].all() else mask[:total]
        return offsets, FixedColumn(_from_words(members[:total], column.values.dtype), column.type, retained)


def _as_words(values: Array) -> Integers:
    """Values as 8 bytes each, whatever they are."""
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, np.float64).view(np.int64)
    if values.dtype == np.uint64:
        return np.ascontiguousarray(values).view(np.int64)
    return np.ascontiguousarray(values, np.int64)


def _from_words(words: Integers, dtype: np.dtype[np.generic]) -> Array:
    if dtype.kind == "f":
        return words.view(np.float64).astype(dtype, copy=False)
    if dtype == np.uint64:
        return words.view(np.uint64)
    return words.astype(dtype, copy=False)


def _keep(
    groups: npt.NDArray[np.int32], words: Integers, stride: int, start: int,
    nulls: Integers, nulls_stride: int, nulls_start: int, size: int, every: int,
    values: Integers, valid: Mask, offsets: Integers, members: Integers, mask: Mask,
) -> int:  # fmt: skip
    fired = total = 0
    nullable = valid.size > 0
    for i in range(groups.size):
        row = np.int64(groups[i]) + 1
        head, null_head = row * stride + start, row * nulls_stride + nulls_start
        count = words[head]
        slot = count % size
        words[head + 1 + slot] = values[i]
        if nullable:
            bit = np.int64(1) << (slot & 63)
            place = null_head + (slot >> 6)
            nulls[place] = nulls[place] & ~bit if valid[i] else nulls[place] | bit
        count += 1
        words[head] = count
        if count % every != 0:
            continue
        held = min(count, size)
        oldest = (count - held) % size
        first = min(held, size - oldest)
        begin = head + 1 + oldest
        members[total : total + first] = words[begin : begin + first]
        members[total + first : total + held] = words[head + 1 : head + 1 + held - first]
        if nullable:
            for j in range(held):
                slot = (oldest + j) % size
                mask[total + j] = (nulls[null_head + (slot >> 6)] >> (slot & 63)) & 1 == 0
        total += held
        fired += 1
        offsets[fired] = total
    return total


def _read_only(type_: types.Type) -> types.Array:
    return types.Array(type_, 1, "C", readonly=True)


@functools.cache
def _kernel() -> Callable[..., int]:
    number, words = types.int64, types.int64[::1]
    signature = number(
        _read_only(types.int32), words, number, number, words, number, number, number, number,
        _read_only(types.int64), _read_only(types.boolean), words, words, types.boolean[::1],
    )  # fmt: skip
    kernel: Callable[..., int] = njit(signature, nogil=True, cache=True, error_model="numpy")(_keep)
    return kernel
