"""The operators that look at one tuple at a time: functor, split, union, punctor, barrier, delay, load, and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from penstock.app import operators as ops
from tests.reference.events import AFTER_ALL, Event, Item, Mark, Position, Row, mark_after, mark_before
from tests.reference.values import Values, values_of

Outputs = list[tuple[int, Event]]  # the number of the output, and what goes there


class Reference(Protocol):
    """An operator: what each event makes it emit."""

    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]] | Outputs: ...

    def on_mark(self, port: int, mark: Mark) -> list[tuple[int, Row]] | Outputs: ...


class PassesMarks:
    """Punctuations go on to every output."""

    outputs = 1

    def on_mark(self, port: int, mark: Mark) -> Outputs:
        return [(output, mark) for output in range(self.outputs)]


class Functor(PassesMarks):
    def __init__(self, operator: ops.Functor, schema: pa.Schema) -> None:
        self.operator, self.sequence, self.values = operator, 0, values_of(schema)

    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]]:
        number, row = self.sequence, item.row
        self.sequence += 1
        if self.operator.where is not None and not self.values.holds(self.operator.where, row, number):
            return []
        return [
            (0, {e.name: self.values.value(e.expression, row, number) for e in emits}) for emits in self.operator.emits
        ]


class Split(PassesMarks):
    def __init__(self, operator: ops.Split) -> None:
        self.branches, self.outputs = operator.branches, len(operator.branches)
        self.values = values_of(operator.schema)

    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]]:
        for number, branch in enumerate(self.branches):
            if branch.where is None or self.values.holds(branch.where, item.row):
                return [(number, item.row)]
        return []


class Union:
    """The copies of a punctuation become one, at the place of the last."""

    def __init__(self, inputs: Sequence[Sequence[Event]]) -> None:
        self.copies: dict[tuple[str, int], int] = {}
        for stream in inputs:
            for event in stream:
                if isinstance(event, Mark):
                    self.copies[event.identity] = self.copies.get(event.identity, 0) + 1

    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]]:
        return [(0, item.row)]

    def on_mark(self, port: int, mark: Mark) -> Outputs:
        self.copies[mark.identity] -= 1
        return [] if self.copies[mark.identity] else [(0, mark)]


class Punctor(PassesMarks):
    def __init__(self, operator: ops.Punctor) -> None:
        self.operator, self.marks, self.values = operator, 0, values_of(operator.schema)

    def on_tuple(self, port: int, item: Item) -> Outputs:
        passed = Item((*item.position, 0), item.row)
        if not self.values.holds(self.operator.when, item.row):
            return [(0, passed)]
        place = mark_before(passed.position) if self.operator.before else mark_after(passed.position)
        mark = Mark(place, (self.operator.name, self.marks))
        self.marks += 1
        return [(0, mark), (0, passed)] if self.operator.before else [(0, passed), (0, mark)]


class Barrier:
    def __init__(self, operator: ops.Barrier, schemas: Sequence[pa.Schema]) -> None:
        self.operator, self.values = operator, Values(list(zip(operator.ports, schemas, strict=True)))
        self.waiting: list[list[Row]] = [[] for _ in operator.ports]

    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]]:
        self.waiting[port].append(item.row)
        if not all(self.waiting):
            return []
        rows = [queue.pop(0) for queue in self.waiting]
        named = {f"{name}.{k}": v for name, row in zip(self.operator.ports, rows, strict=True) for k, v in row.items()}
        return [(0, {e.name: self.values.value(e.expression, named) for e in self.operator.emit})]

    def on_mark(self, port: int, mark: Mark) -> Outputs:
        return []


class Delay:
    def __init__(self, operator: ops.Delay) -> None:
        self.delay_s = operator.delay_s

    def on_tuple(self, port: int, item: Item) -> Outputs:
        return [(0, Item((*self._later(item.position), 0), item.row))]

    def on_mark(self, port: int, mark: Mark) -> Outputs:
        return [(0, Mark(self._later(mark.position), mark.identity))]

    def _later(self, position: Position) -> Position:
        return (position[0] + self.delay_s, *position[1:])


class Load(PassesMarks):
    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]]:
        return [(0, item.row)]


class Throttle:
    """A punctuation stays behind the tuple before it."""

    def __init__(self, operator: ops.Throttle) -> None:
        self.period_s = 1.0 / operator.rate_tuples_s
        self.last: Position | None = None

    def on_tuple(self, port: int, item: Item) -> Outputs:
        stamp = item.position[0]
        if self.last is not None:
            stamp = max(stamp, self.last[0] + self.period_s)
        self.last = (stamp, *item.position[1:], 0)
        return [(0, Item(self.last, item.row))]

    def on_mark(self, port: int, mark: Mark) -> Outputs:
        behind = mark.position if self.last is None else max(mark.position, (*self.last, AFTER_ALL))
        return [(0, Mark(behind, mark.identity))]


class Sink(PassesMarks):
    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]]:
        return [(0, item.row)]
