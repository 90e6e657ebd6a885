"""The oracle: a graph run over complete inputs, operator by operator, one tuple at a time, in plain Python.

Whatever the engine does, at every block size and however its input is cut, must equal this (docs/semantics.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.app.windows import MICROSECONDS
from tests.reference import operators as plain
from tests.reference.aggregates import Aggregate
from tests.reference.events import Event, Item, Mark, Position, Row, filled, merged, of_results
from tests.reference.join import Join
from tests.reference.letters import Letter, Letters
from tests.reference.python_functions import Function
from tests.reference.sort import Sort

Streams = dict[str, list[Event]]


def interpret(
    graph: Graph, inputs: Mapping[str, Sequence[Row]], taps: Iterable[str] = ()
) -> tuple[dict[str, list[Row]], list[Letter]]:
    """What every sink and tap gets, and the dead letters."""
    letters, streams = Letters(), Streams()
    for place, source in enumerate(graph.sources):
        streams[source.name] = list(_source(source, place, inputs.get(source.name, ()), letters))
    for operator in graph.operators:
        if not isinstance(operator, ops.Source):
            streams |= _run(operator, graph, streams, letters)
    wanted = [*(sink.name for sink in graph.sinks), *taps]
    rows = {name: [event.row for event in streams[name] if isinstance(event, Item)] for name in wanted}
    return rows, letters.letters


def _source(source: ops.Source, place: int, rows: Sequence[Row], letters: Letters) -> Iterable[Item]:
    """Tuples at (stamp, place, sequence); a stamp that goes back counts as the highest so far."""
    highest, sequence = -math.inf, 0
    for row in rows:
        forbidden = [f.name for f in source.schema if not f.nullable and row[f.name] is None]
        if forbidden:
            reason = f"has a null in '{forbidden[0]}', where its schema forbids it"
            letters.add(source.name, reason, row, source.schema)
            continue
        stamp = _stamp(source, row, sequence)
        if stamp is None:
            letters.add(source.name, f"has no number in '{source.stamp}', its stamp", row, source.schema)
            continue
        highest = max(highest, stamp)
        yield Item((highest, place, sequence), row)
        sequence += 1


def _stamp(source: ops.Source, row: Row, sequence: int) -> float | None:
    if source.stamp is None:
        return sequence / (source.rate_tuples_s or 1.0)
    number = row[source.stamp]
    if number is None or not math.isfinite(number):
        return None
    return number / MICROSECONDS if pa.types.is_timestamp(source.schema.field(source.stamp).type) else float(number)


def _run(operator: ops.Operator, graph: Graph, streams: Streams, letters: Letters) -> Streams:
    """The streams that an operator emits."""
    inputs = [streams[name] for name in operator.inputs]
    reference = _reference(operator, graph, inputs, letters)
    outputs = [_Numbered(3 + _depth(operator, graph)) for _ in operator.outputs]
    for port, event in merged(inputs):
        results = reference.on_tuple(port, event) if isinstance(event, Item) else reference.on_mark(port, event)
        for number, result in results:
            outputs[number].add(event, result)
    return dict(zip(operator.outputs, (output.events for output in outputs), strict=True))


def _depth(operator: ops.Operator, graph: Graph) -> int:
    """How many numbers follow the position in the source, at most: one an operator, two where punctuations fire."""
    if isinstance(operator, ops.Source):
        return 0
    at_marks = isinstance(operator, ops.Aggregate | ops.Sort) and operator.window.measure == "punctuation"
    return max(_depth(graph.producer(stream), graph) for stream in operator.inputs) + (2 if at_marks else 1)


class _Numbered:
    """A stream being written: what is emitted at one position is numbered on from 0, all positions of one length."""

    def __init__(self, length: int) -> None:
        self.events: list[Event] = []
        self.position: Position = ()
        self.number, self.length = 0, length

    def add(self, event: Event, result: Event | Row) -> None:
        if isinstance(result, Item | Mark):  # it knows its position
            self.events.append(result)
            return
        position = filled(event.position, self.length - 1) if isinstance(event, Item) else of_results(event)
        self.number = self.number + 1 if position == self.position else 0
        self.position = position
        self.events.append(Item(filled((*position, self.number), self.length), result))


def _reference(operator: ops.Operator, graph: Graph, inputs: Sequence[list[Event]], letters: Letters) -> Any:
    schemas = [graph.producer(stream).schema for stream in operator.inputs]
    match operator:
        case ops.Functor():
            return plain.Functor(operator, schemas[0])
        case ops.Aggregate():
            return Aggregate(operator, schemas[0], letters)
        case ops.Join():
            return Join(operator, schemas, letters)
        case ops.Split():
            return plain.Split(operator)
        case ops.Union():
            return plain.Union(inputs)
        case ops.Sort():
            return Sort(operator, schemas[0], letters)
        case ops.Punctor():
            return plain.Punctor(operator)
        case ops.Barrier():
            return plain.Barrier(operator, schemas)
        case ops.Delay():
            return plain.Delay(operator)
        case ops.Throttle():
            return plain.Throttle(operator)
        case ops.Load():
            return plain.Load()
        case ops.Map() | ops.Custom():
            return Function(operator, schemas[0], letters)
        case _:
            return plain.Sink()
