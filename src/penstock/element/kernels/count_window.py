"""Count windows, one per group: blocks of tuples in, the results of the windows that fired out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.element.column import Array, FixedColumn, Mask
from penstock.element.kernels.aggregates import KEEPS_TYPE, AggregateCall, check_calls
from penstock.element.kernels.count_window_results import is_masked
from penstock.element.kernels.count_window_shape import Shape
from penstock.element.kernels.count_window_source import kernel_source
from penstock.element.kernels.generated import load
from penstock.element.kernels.growing import GrowingRows
from penstock.errors import InputError


@dataclass(frozen=True, slots=True)
class Fired:
    """Results of the windows that fired, in the order of the rows that made them; `rows` is None where each row did."""

    rows: npt.NDArray[np.int64] | None
    columns: tuple[FixedColumn, ...]


class CountWindow:
    """A window by count for each group, with all its aggregates.

    Sliding: holds the group's newest `size` tuples and fires at every `every`-th tuple of the group with whatever it
    holds.  Tumbling: fires when `size` tuples are there, then is empty.  Results are equal to the bit however the
    stream is cut into blocks.  Memory: `bytes_per_group`, touched only as tuples come.

    >>> window = CountWindow(2, 1, False, (AggregateCall("sum", 0),), (np.dtype("f8"),))
    >>> prices = FixedColumn(np.array([1.0, 5.0, 2.0]), pa.float64())
    >>> window.process(np.array([0, 1, 0], np.int32), 2, [prices]).columns[0].values.tolist()
    [1.0, 5.0, 3.0]
    """

    def __init__(
        self,
        size: int,
        every: int,
        tumbling: bool,
        aggregates: tuple[AggregateCall, ...],
        types: tuple[np.dtype[Any], ...],
    ) -> None:
        if size < 1 or every < 1:
            raise InputError(f"a count window needs a size and a step of at least 1; got {size} and {every}")
        check_calls(aggregates, types)
        # A tumbling window is the sliding one whose step is its size.
        self._use(Shape(size, size if tumbling else every, aggregates, types, nullable=False))
        self._words = GrowingRows(self._shape.words(about_nulls=False))
        self._nulls = GrowingRows(0)
        self._group_count = 0
        self._all_valid: Mask = np.ones(0, np.bool_)

    @property
    def bytes_per_group(self) -> int:
        """Memory of a group whose window has been full."""
        return 8 * (self._words.words + self._nulls.words)

    @property
    def state_bytes(self) -> int:
        """Memory of all groups seen, as if their windows were full."""
        return self._group_count * self.bytes_per_group

    def process(self, groups: npt.NDArray[np.int32], group_count: int, columns: Sequence[FixedColumn]) -> Fired:
        """Takes a block: the group of each row (each less than `group_count`) and the columns the calls refer to."""
        shape = self._shape
        if not shape.nullable and any(_has_nulls(columns[c]) for c in shape.columns):
            shape = self._become_nullable()
        self._grow(group_count)
        rows = len(groups)
        fired_rows = np.empty(0 if shape.fires_always else rows, np.int64)
        values = [np.empty(rows, dtype) for dtype in shape.result_types]
        masks: list[Mask | None] = [np.empty(rows, np.bool_) if m else None for m in self._masked]
        arguments = [_plain(columns[c].values, self._types[c]) for c in shape.columns]
        if shape.nullable:
            arguments += [self._mask(columns[c].valid, rows) for c in shape.columns]
        state = (self._words.integers, self._words.floats, self._nulls.integers)
        outputs = (fired_rows, *map(_as_numbers, values), *(mask for mask in masks if mask is not None))
        fired = rows if not rows else self._kernel(_plain(groups, _INT32), *state, *arguments, *outputs)
        if shape.fires_always:
            return Fired(None, self._columns(rows, values, masks, columns))
        return Fired(fired_rows[:fired], self._columns(fired, values, masks, columns))

    def export(self) -> dict[str, Array]:
        """The state as arrays, for a snapshot."""
        arrays: dict[str, Array] = {"words": self._words.table(self._group_count)}
        if self._shape.nullable:
            arrays["nulls"] = self._nulls.table(self._group_count)
        return arrays

    @classmethod
    def restore(
        cls,
        size: int,
        every: int,
        tumbling: bool,
        aggregates: tuple[AggregateCall, ...],
        types: tuple[np.dtype[Any], ...],
        arrays: Mapping[str, Array],
    ) -> CountWindow:
        """A window that goes on where the exported one was."""
        window = cls(size, every, tumbling, aggregates, types)
        if "nulls" in arrays:
            window._become_nullable()
        window._grow(len(arrays["words"]))
        window._words.integers[: arrays["words"].size] = arrays["words"].ravel()
        if "nulls" in arrays:
            window._nulls.integers[: arrays["nulls"].size] = arrays["nulls"].ravel()
        return window

    def _use(self, shape: Shape) -> None:
        self._shape = shape
        self._types = tuple(np.dtype(np.uint8) if t == np.bool_ else t for t in shape.types)
        self._masked = [is_masked(call, shape.nullable) for call in shape.calls]
        self._kernel = load(kernel_source(shape)).kernel

    def _become_nullable(self) -> Shape:
        """Switches for good to the kernel that knows nulls; a zero in its own array says that there were none."""
        old = self._shape
        self._use(Shape(old.size, old.every, old.calls, old.types, nullable=True))
        self._nulls = GrowingRows(self._shape.words(about_nulls=True), self._words.capacity)
        return self._shape

    def _grow(self, group_count: int) -> None:
        self._group_count = max(self._group_count, group_count)
        self._words.grow(group_count)
        self._nulls.grow(group_count)

    def _mask(self, valid: Mask | None, rows: int) -> Mask:
        if valid is not None:
            return np.ascontiguousarray(valid)
        if len(self._all_valid) < rows:
            self._all_valid = np.ones(rows, np.bool_)
        return self._all_valid

    def _columns(
        self, fired: int, values: list[Array], masks: list[Mask | None], columns: Sequence[FixedColumn]
    ) -> tuple[FixedColumn, ...]:
        results = []
        for call, value, mask in zip(self._shape.calls, values, masks, strict=True):
            kept = call.argument is not None and call.function in KEEPS_TYPE
            type_ = columns[call.argument].type if kept else _TYPE_BY_KIND[value.dtype.kind]  # type: ignore[index]
            valid = None if mask is None or mask[:fired].all() else mask[:fired]
            results.append(FixedColumn(value[:fired], type_, valid))
        return tuple(results)


_INT32 = np.dtype(np.int32)
_TYPE_BY_KIND = {"i": pa.int64(), "f": pa.float64()}


def _has_nulls(column: FixedColumn) -> bool:
    return column.valid is not None and not column.valid.all()


def _as_numbers(values: Array) -> Array:
    return values.view(np.uint8) if values.dtype == np.bool_ else values


def _plain(values: Array, dtype: np.dtype[Any]) -> Array:
    """The array as kernels are compiled for: contiguous, aligned, booleans as bytes; a view where it can be one."""
    values = _as_numbers(values)
    if values.dtype != dtype:
        raise InputError(f"a window was made for a column of type {dtype}; got {values.dtype}")
    flags = values.flags
    return values if flags.c_contiguous and flags.aligned else np.array(values)
