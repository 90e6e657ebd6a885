"""Aggregate operators and their functions, as plainly as they can be said."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable
from typing import Any

import pyarrow as pa

from penstock.app import operators as ops
from penstock.expressions.check import Scope, aggregate_calls, replace_calls, type_of_expression
from penstock.expressions.tree import Attribute, Call
from tests.reference.events import Item, Mark, Row
from tests.reference.letters import Letters, failure
from tests.reference.operators import Outputs
from tests.reference.values import values_of
from tests.reference.windows import Firing, Held, Windows, number_of

LATE = "came late: its window had fired already"
_NAN = "the one NaN"


class Near(float):
    """A number that the engine may miss by 1e-12 of `scale`, because it adds in another order."""

    scale: float

    def __new__(cls, number: float, scale: float) -> Near:
        near = super().__new__(cls, number)
        near.scale = scale
        return near


def key_of(row: Row, names: tuple[str, ...]) -> Hashable:
    """The group of a tuple: all NaN are one, and so are all nulls."""
    return tuple(_NAN if row[name] != row[name] else row[name] for name in names)


class Aggregate:
    def __init__(self, operator: ops.Aggregate, schema: pa.Schema, letters: Letters) -> None:
        self.operator, self.schema, self.letters = operator, schema, letters
        self.windows = Windows(operator.window)
        self.functions = {name.lower(): own for name, own in operator.functions}
        own = {name: function.returns for name, function in self.functions.items()}
        self.own, self.scope, self.values = own, Scope(((None, schema),), own), values_of(schema)

    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]]:
        name, number = self.operator.name, number_of(item.row, self.operator.window, self.schema)
        if number is None:
            reason = f"has no number in '{self.operator.window.on}', on which its window runs"
            self.letters.add(name, reason, item.row, self.schema)
            return []
        firings = self.windows.on_tuple(item.row, key_of(item.row, self.operator.by), number)
        if firings is None:
            self.letters.add(name, LATE, item.row, self.schema)
        return [(0, row) for firing in firings or () for row in self._results(firing)]

    def on_mark(self, port: int, mark: Mark) -> list[tuple[int, Row]] | Outputs:
        results: list[tuple[int, Any]] = [
            (0, row) for firing in self.windows.on_mark() for row in self._results(firing)
        ]
        return [*results, (0, mark)]

    def at_end(self) -> list[Row]:
        return [row for firing in self.windows.at_end() for row in self._results(firing)]

    def _results(self, firing: Firing) -> list[Row]:
        """One row per group in the window, by first appearance."""
        groups = dict.fromkeys(h.group for h in firing.held)
        return [row for group in groups for row in self.results_of(firing, group)]

    def results_of(self, firing: Firing, group: Hashable) -> list[Row]:
        """The row of one group, or none where a user's function fails."""
        try:
            return [self._result([h for h in firing.held if h.group == group], firing)]
        except _FunctionFailed as failed:
            self.letters.letters.append((self.operator.name, failed.args[0], failed.args[1]))
            return []

    def _result(self, held: list[Held], firing: Firing) -> Row:
        row = {}
        for emit in self.operator.emit:
            calls = aggregate_calls(emit.expression, self.own)
            results = {f"#{i}": self._call(call, held, firing) for i, call in enumerate(calls)}
            names: dict[Call, Any] = {call: Attribute(f"#{i}") for i, call in enumerate(calls)}
            types = pa.schema([(f"#{i}", type_of_expression(call, self.scope)) for i, call in enumerate(calls)])
            row[emit.name] = values_of(types).value(replace_calls(emit.expression, names), results)
        return row

    def _call(self, call: Call, held: list[Held], firing: Firing) -> Any:
        if call.function == "mcnt":
            return len(firing.held)
        if call.function in ("window_start", "window_end"):
            assert firing.end_us is not None
            return firing.end_us - (int(self.operator.window.size) if call.function == "window_start" else 0)
        if not call.arguments:
            return len(held)
        values = [self.values.value(call.arguments[0], h.row) for h in held]
        type_ = type_of_expression(call.arguments[0], self.scope)
        if call.function in self.functions:
            return _own(self.functions[call.function], values, type_, call.function)
        return aggregate(call.function, values, type_)


class _FunctionFailed(Exception):
    """A user's aggregate function raised: reason, and the row of its dead letter."""


def _own(own: ops.AggregateFunction, values: list[Any], type_: pa.DataType, name: str) -> Any:
    array = pa.array(values, type_)
    try:
        result = pa.array([_plain(own.function(array))], own.returns)
    except Exception as error:
        row = json.dumps({name: array.to_pylist()}, default=str, ensure_ascii=False)
        raise _FunctionFailed(failure(error), row) from error
    return result.to_pylist()[0]


def _plain(result: Any) -> Any:
    return result.as_py() if isinstance(result, pa.Scalar) else result


def aggregate(function: str, values: list[Any], type_: pa.DataType) -> Any:
    """One aggregate of a window's values, oldest first; None is null."""
    if function in ("any", "first"):
        return values[0]
    if function == "last":
        return values[-1]
    if function == "collect":
        return values
    return _OF_KNOWN[function]([v for v in values if v is not None], pa.types.is_floating(type_))


def _count(known: list[Any], floating: bool) -> int:
    return len(known)


def _count_distinct(known: list[Any], floating: bool) -> int:
    return len({_NAN if v != v else v for v in known})


def _sum(known: list[Any], floating: bool) -> Any:
    if not known:
        return None
    return _float_sum(known) if floating else (sum(known) + 2**63) % 2**64 - 2**63


def _average(known: list[Any], floating: bool) -> Any:
    if not known:
        return None
    if floating:
        total = _float_sum(known)
        return Near(total / len(known), total.scale)
    return Near(sum(known) / len(known), float(max(map(abs, known))))


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[list[Any], bool], Any]:
    def extreme(known: list[Any], floating: bool) -> Any:
        if any(v != v for v in known):
            return math.nan
        return choose(known) if known else None

    return extreme


def _deviation(known: list[Any], floating: bool) -> Any:
    if len(known) < 2:
        return None
    if not all(map(math.isfinite, known)):
        return math.nan
    mean = math.fsum(known) / len(known)
    squares = math.fsum((v - mean) ** 2 for v in known)
    return Near(math.sqrt(squares / (len(known) - 1)), 1e4 * float(max(map(abs, known))))


def _float_sum(known: list[float]) -> Near:
    total = math.fsum(known) if all(map(math.isfinite, known)) else sum(known)
    return Near(total, math.fsum(map(abs, known)) if math.isfinite(total) else math.inf)


_OF_KNOWN: dict[str, Callable[[list[Any], bool], Any]] = {
    "count": _count,
    "count_distinct": _count_distinct,
    "sum": _sum,
    "avg": _average,
    "min": _extreme(min),
    "max": _extreme(max),
    "stddev": _deviation,
}
