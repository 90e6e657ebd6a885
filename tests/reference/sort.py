"""Sort one tuple at a time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.app import operators as ops
from tests.reference.aggregates import LATE
from tests.reference.events import Item, Mark, Row
from tests.reference.letters import Letters
from tests.reference.operators import Outputs
from tests.reference.windows import Windows, number_of


class Sort:
    def __init__(self, operator: ops.Sort, schema: pa.Schema, letters: Letters) -> None:
        self.operator, self.schema, self.letters = operator, schema, letters
        self.windows = Windows(operator.window)
        self.buffer: list[Row] = []

    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]]:
        window = self.operator.window
        if window.kind == "sliding":
            return self._overflow(item.row)
        number = number_of(item.row, window, self.schema)
        if number is None:
            reason = f"has no number in '{window.on}', on which its window runs"
            self.letters.add(self.operator.name, reason, item.row, self.schema)
            return []
        firings = self.windows.on_tuple(item.row, None, number)
        if firings is None:
            self.letters.add(self.operator.name, LATE, item.row, self.schema)
        return [(0, row) for firing in firings or () for row in self._sorted([h.row for h in firing.held])]

    def on_mark(self, port: int, mark: Mark) -> list[tuple[int, Row]] | Outputs:
        firings = self.windows.on_mark() if self.operator.window.kind == "tumbling" else []
        results: list[tuple[int, Any]] = [(0, r) for f in firings for r in self._sorted([h.row for h in f.held])]
        return [*results, (0, mark)]

    def at_end(self) -> list[Row]:
        if self.operator.window.kind == "sliding":
            return self._sorted(self.buffer)
        return [row for firing in self.windows.at_end() for row in self._sorted([h.row for h in firing.held])]

    def _overflow(self, row: Row) -> list[tuple[int, Row]]:
        self.buffer.append(row)
        if len(self.buffer) <= self.operator.window.size:
            return []
        lowest = self._sorted(self.buffer)[0]
        first = next(i for i, other in enumerate(self.buffer) if other is lowest)
        return [(0, self.buffer.pop(first))]

    def _sorted(self, rows: list[Row]) -> list[Row]:
        """By the last key first, so that earlier keys rule; ties keep their order, NaN and then nulls come last."""
        for key in reversed(self.operator.by):
            nulls = [row for row in rows if row[key.attribute] is None]
            nans = [row for row in rows if row[key.attribute] != row[key.attribute]]
            plain = [row for row in rows if row[key.attribute] is not None and row[key.attribute] == row[key.attribute]]
            rows = sorted(plain, key=lambda row: row[key.attribute], reverse=key.descending) + nans + nulls
        return rows
