"""Key -> slot: by hash, by range of an attribute, or by a grid over two attributes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.arguments import check_arguments, is_whole, many, number, shown
from penstock.block.column import Array, Column, FixedColumn
from penstock.errors import InputError
from penstock.kernels.keys.hashing import Slots, hash_columns, slots_of_hashes
from penstock.plan.configuration import SLOTS_MAX


@dataclass(frozen=True, slots=True)
class HashSlots:
    """Slots by a stable hash of all key columns.

    >>> import pyarrow as pa
    >>> HashSlots(8).slots_of([FixedColumn(np.array([1, 2, 1]), pa.int64())], 3).tolist()
    [4, 4, 4]
    """

    slots: int = 512

    def __post_init__(self) -> None:
        _check_count(self.slots)

    def slots_of(self, columns: Sequence[Column], rows: int) -> Slots:
        return slots_of_hashes(hash_columns(list(columns), rows), self.slots)


@dataclass(frozen=True, slots=True)
class RangeSlots:
    """Slots by the range of the first key column, a number.

    Slot i has bounds[i - 1] <= value < bounds[i]; null and NaN are in the last.

    >>> import pyarrow as pa
    >>> RangeSlots((10.0, 20.0)).slots_of([FixedColumn(np.array([5, 10, 99]), pa.int64())], 3).tolist()
    [0, 1, 2]
    """

    bounds: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_bounds(self.bounds)
        _check_count(self.slots)

    @property
    def slots(self) -> int:
        return len(self.bounds) + 1

    def slots_of(self, columns: Sequence[Column], rows: int) -> Slots:
        return _ranges(_number(columns, 0), self.bounds)


@dataclass(frozen=True, slots=True)
class GridSlots:
    """Slots by cells of a grid over the first two key columns, numbers, the second one running fastest.

    >>> GridSlots((0.0,), (10.0, 20.0)).slots
    6
    """

    first_bounds: tuple[float, ...]
    second_bounds: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_bounds(self.first_bounds)
        _check_bounds(self.second_bounds)
        _check_count(self.slots)

    @property
    def slots(self) -> int:
        return (len(self.first_bounds) + 1) * (len(self.second_bounds) + 1)

    def slots_of(self, columns: Sequence[Column], rows: int) -> Slots:
        first = _ranges(_number(columns, 0), self.first_bounds)
        second = _ranges(_number(columns, 1), self.second_bounds)
        return first * np.int32(len(self.second_bounds) + 1) + second


SlotFunction = HashSlots | RangeSlots | GridSlots


def _check_count(slots: int) -> None:
    if not is_whole(slots, 1) or slots > SLOTS_MAX:
        raise InputError(f"an operator has 1 to {SLOTS_MAX} slots; got {shown(slots)}")


def _check_bounds(bounds: tuple[float, ...]) -> None:
    check_arguments("slots by range", bounds=(bounds, many("a tuple of numbers", number())))
    if not all(low < high for low, high in itertools.pairwise(bounds)):
        raise InputError(f"bounds of slots ascend; got {', '.join(map(str, bounds))}")


def _number(columns: Sequence[Column], place: int) -> FixedColumn:
    column = columns[place] if len(columns) > place else None
    if not isinstance(column, FixedColumn):
        kinds = ", ".join(str(c.type) for c in columns) or "none"
        raise InputError(f"slots by range need a number as key attribute {place + 1}; got keys of {kinds}")
    return column


def _ranges(column: FixedColumn, bounds: tuple[float, ...]) -> Slots:
    slots: Slots = np.searchsorted(_edges(bounds, column.values), column.values, side="right").astype(np.int32)
    if column.valid is not None:
        slots[~column.valid] = len(bounds)
    return slots


def _edges(bounds: tuple[float, ...], values: Array) -> Array:
    """Bounds in the type of the values where they are whole, since large integers are not exact as floats."""
    if values.dtype.kind in "iu" and all(float(b).is_integer() for b in bounds):
        return np.array([int(b) for b in bounds], np.int64)
    return np.array(bounds, np.float64)
