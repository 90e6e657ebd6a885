"""The rows that a join's windows hold of one input, as far as predicate and emits read them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.block.block import Block
from penstock.block.column import Array, CodedColumn, Column, FixedColumn, Mask, WordColumn, concat, empty_column
from penstock.block.position import Integers
from penstock.kernels.joins.window_join import WindowJoin
from penstock.kernels.snapshot import SnapshotFields

_COMPACT_ABOVE_ROWS = 16_384


class JoinStore(SnapshotFields):
    """Columns of one port: retained rows, then the newest block's; cut down to live rows now and then."""

    snapshot_fields = ("_columns", "_missing", "_rows", "_live")

    def __init__(self, kernel: WindowJoin, port: int, schema: pa.Schema, reads: list[int], keys: list[int]) -> None:
        self._kernel, self._port, self._keys = kernel, port, keys
        self._stored = {place: _StoredColumn(empty_column(schema.field(place).type)) for place in reads}
        self._missing: Mask | None = None  # rows with a null in their key
        self._rows = self._live = 0

    @property
    def state_bytes(self) -> int:
        return sum(int(stored.column.to_arrow().nbytes) for stored in self._stored.values())

    @property
    def _columns(self) -> dict[int, Column]:
        return {place: stored.column for place, stored in self._stored.items()}

    @_columns.setter
    def _columns(self, columns: dict[int, Column]) -> None:
        for place, column in columns.items():
            self._stored[place] = _StoredColumn(column)

    def append(self, block: Block) -> None:
        for place, stored in self._stored.items():
            stored.append(block.columns[place])
        missing: Mask | None = None
        for place in self._keys:
            valid = block.columns[place].valid
            if valid is not None:
                missing = ~valid if missing is None else missing | ~valid
        if missing is not None or self._missing is not None:
            parts = ((self._missing, self._rows), (missing, block.rows))
            self._missing = np.concatenate([np.zeros(n, np.bool_) if part is None else part for part, n in parts])
        self._rows += block.rows

    def column(self, place: int) -> Column:
        """All rows of the input's column at a place; good until the next block."""
        return self._stored[place].column

    def taken(self, rows: Integers) -> tuple[dict[int, Column], Mask | None]:
        """Some rows: columns by place, and which have a null in their key."""
        missing = None if self._missing is None else self._missing[rows]
        return {place: stored.column.take(rows) for place, stored in self._stored.items()}, missing

    def hold(self, columns: Mapping[int, Column], missing: Mask | None, rows: int) -> None:
        """A new store takes so many rows."""
        self._columns, self._missing = dict(columns), missing
        self._rows = self._live = rows

    def keyless(self) -> Mask | None:
        """Which rows have a null in their key, or None where none has."""
        return self._missing

    def compact(self) -> None:
        """Cuts the store down to what the window holds, when that is worth it."""
        if self._rows <= 2 * self._live + _COMPACT_ABOVE_ROWS:
            return
        live = self._kernel.live(self._port)
        self._live = len(live)
        if self._rows > 2 * self._live + _COMPACT_ABOVE_ROWS:
            for stored in self._stored.values():
                stored.keep(live)
            if self._missing is not None:
                missing = self._missing[live]
                self._missing = missing if missing.any() else None
            self._kernel.renumber(self._port, live)
            self._rows = self._live


class _StoredColumn:
    """A column that grows in place as long as it is of fixed width, without nulls and of one dictionary."""

    __slots__ = ("_memory", "column")

    def __init__(self, column: Column) -> None:
        self.column = column
        self._memory: Array | None = None

    def append(self, new: Column) -> None:
        old, memory, values = self.column, self._memory, _values(new)
        rows = len(old)
        if values is None or (rows and (_values(old) is None or not _are_alike(old, new))):
            self.column, self._memory = (concat([old, new]) if rows else new), None
            return
        stop = rows + len(values)
        if memory is None or len(memory) < stop:
            memory = np.empty(max(2 * rows, _COMPACT_ABOVE_ROWS) + 2 * len(values), values.dtype)
            memory[:rows] = _values(old) if rows else 0
            self._memory = memory
        memory[rows:stop] = values
        self.column = _column(memory[:stop], new)

    def keep(self, rows: Integers) -> None:
        """Lets go of all other rows."""
        self.column = self.column.take(rows)
        values = _values(self.column)
        if self._memory is not None and values is not None:
            self._memory[: len(values)] = values
            self.column = _column(self._memory[: len(values)], self.column)


def _values(column: Column) -> Array | None:
    """The numbers that a column without nulls is made of; None where it is not."""
    if type(column) is FixedColumn:
        return column.values if column.valid is None else None
    coded = column.coded if type(column) is WordColumn else column
    if type(coded) is CodedColumn:
        return coded.codes if coded.valid is None else None
    return None


def _are_alike(old: Column, new: Column) -> bool:
    """Whether the numbers of both mean the same."""
    one, other = (own.coded if type(own) is WordColumn else own for own in (old, new))
    if type(one) is not CodedColumn or type(other) is not CodedColumn:
        return True
    return one.dictionary is other.dictionary or bool(one.dictionary.equals(other.dictionary))


def _column(values: Array, like: Column) -> Column:
    if type(like) is CodedColumn:
        return CodedColumn(values, like.dictionary)
    if type(like) is WordColumn:
        return WordColumn(CodedColumn(values, like.coded.dictionary))
    return FixedColumn(values, like.type)
