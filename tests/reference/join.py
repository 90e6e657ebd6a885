"""The join one tuple at a time: two lists of tuples, and a walk over the other one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.app import operators as ops
from penstock.app.windows import Window
from tests.reference.aggregates import key_of
from tests.reference.events import Item, Mark, Row
from tests.reference.letters import Letters
from tests.reference.operators import Outputs
from tests.reference.values import Values
from tests.reference.windows import number_of


class Partner(NamedTuple):
    """A tuple in a join's window."""

    row: Row
    key: Hashable
    number: Any


class Join:
    def __init__(self, operator: ops.Join, schemas: list[pa.Schema], letters: Letters) -> None:
        self.operator, self.schemas, self.letters = operator, schemas, letters
        self.windows = (operator.left_window, operator.right_window)
        self.names = (tuple(a for a, _ in operator.on), tuple(b for _, b in operator.on))
        self.held: tuple[list[Partner], list[Partner]] = ([], [])
        self.clock_us: int | None = None
        self.values = Values((("left", schemas[0]), ("right", schemas[1])))

    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]]:
        window, row = self.windows[port], item.row
        number = number_of(row, window, self.schemas[port])
        if number is None:
            reason = f"has no number in '{window.on}', on which its window runs"
            self.letters.add(self.operator.name, reason, row, self.schemas[port])
            return []
        new = Partner(row, key_of(row, self.names[port]), number)
        self.held[port].append(new)
        self._evict(port, new)
        return [(0, self._pair(port, new, other)) for other in self.held[1 - port] if self._fits(port, new, other)]

    def on_mark(self, port: int, mark: Mark) -> Outputs:
        return []

    def _evict(self, port: int, new: Partner) -> None:
        window, held = self.windows[port], self.held[port]
        if window.measure == "time":
            self.clock_us = new.number if self.clock_us is None else max(self.clock_us, new.number)
            for side in (0, 1):
                if self.windows[side].measure == "time":
                    self._evict_old(self.held[side], self.windows[side], self.clock_us)
            return
        own = [p for p in held if not window.per_group or p.key == new.key]
        if window.measure == "count":
            gone = own[: -int(window.size)]
        else:
            gone = [p for p in own if abs(p.number - new.number) > window.size]
        held[:] = [p for p in held if not any(p is other for other in gone)]

    def _evict_old(self, held: list[Partner], window: Window, clock_us: int) -> None:
        held[:] = [p for p in held if clock_us - p.number < window.size]

    def _fits(self, port: int, new: Partner, other: Partner) -> bool:
        if new.key != other.key or any(new.row[name] is None for name in self.names[port]):
            return False
        where = self.operator.where
        return where is None or self.values.holds(where, self._both(port, new, other))

    def _pair(self, port: int, new: Partner, other: Partner) -> Row:
        both = self._both(port, new, other)
        return {e.name: self.values.value(e.expression, both) for e in self.operator.emit}

    def _both(self, port: int, new: Partner, other: Partner) -> Row:
        left, right = (new.row, other.row) if port == 0 else (other.row, new.row)
        return {**{f"left.{k}": v for k, v in left.items()}, **{f"right.{k}": v for k, v in right.items()}}
