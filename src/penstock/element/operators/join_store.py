"""The rows that a join's windows hold of one input, as far as predicate and emits read them."""

from __future__ import annotations

import pyarrow as pa

from penstock.element.block import Block
from penstock.element.column import Column, FixedColumn, Mask, concat, empty_column
from penstock.element.kernels.gather import take_columns
from penstock.element.kernels.window_join import WindowJoin
from penstock.element.position import Integers

_COMPACT_ABOVE_ROWS = 16_384


class JoinStore:
    """Columns of one port: retained rows, then the newest block's; cut down to live rows now and then."""

    def __init__(self, kernel: WindowJoin, port: int, schema: pa.Schema, reads: list[int], keys: list[int]) -> None:
        self._kernel, self._port = kernel, port
        self._places = list(dict.fromkeys((*reads, *keys)))
        self._reads, self._keys = [self._places.index(i) for i in reads], [self._places.index(i) for i in keys]
        self._columns: list[Column] = [empty_column(schema.field(i).type) for i in self._places]
        self._rows = self._live = 0

    @property
    def state_bytes(self) -> int:
        return sum(int(column.to_arrow().nbytes) for column in self._columns)

    def append(self, block: Block) -> None:
        new = [block.columns[i] for i in self._places]
        self._columns = (
            [concat([old, more]) for old, more in zip(self._columns, new, strict=True)] if self._rows else new
        )
        self._rows += block.rows

    def take(self, rows: Integers) -> tuple[Column, ...]:
        """The columns that are read, for rows of the store."""
        columns = [self._columns[i] for i in self._reads]
        fixed = [column for column in columns if isinstance(column, FixedColumn)]
        taken = iter(take_columns(fixed, rows))
        return tuple(next(taken) if isinstance(column, FixedColumn) else column.take(rows) for column in columns)

    def keyless(self) -> Mask | None:
        """Which rows have a null in their key, or None where none has."""
        missing: Mask | None = None
        for i in self._keys:
            valid = self._columns[i].valid
            if valid is not None:
                missing = ~valid if missing is None else missing | ~valid
        return missing

    def compact(self) -> None:
        """Cuts the store down to what the window holds, when that is worth it."""
        if self._rows <= 2 * self._live + _COMPACT_ABOVE_ROWS:
            return
        live = self._kernel.live(self._port)
        self._live = len(live)
        if self._rows > 2 * self._live + _COMPACT_ABOVE_ROWS:
            self._columns = [column.take(live) for column in self._columns]
            self._kernel.renumber(self._port, live)
            self._rows = self._live
