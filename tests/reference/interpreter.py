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
from tests.reference.watermark import (
    AT_TICK,
    THE_END,
    Tick,
    Tuple,
    Watermarked,
    depth_of_results,
    goes_by_watermark,
    is_merged,
    ticks_of,
)

Streams = dict[str, list[Event]]


def interpret(
    graph: Graph, inputs: Mapping[str, Sequence[Row]], taps: Iterable[str] = (), *, at_end: str = "hold"
) -> tuple[dict[str, list[Row]], list[Letter]]:
    """What every sink and tap gets, and the dead letters."""
    letters = Letters()
    tuples = {
        source.name: [Tuple(item, 0) for item in _source(source, graph, inputs.get(source.name, ()), letters)]
        for source in graph.sources
    }
    return interpret_tuples(graph, tuples, letters, taps, at_end=at_end)


def interpret_tuples(
    graph: Graph,
    tuples: Mapping[str, Sequence[Tuple]],
    letters: Letters,
    taps: Iterable[str] = (),
    *,
    at_end: str = "hold",
    partitions: Mapping[str, int] | None = None,
) -> tuple[dict[str, list[Row]], list[Letter]]:
    """The same of tuples that have positions and partitions; the number of a source's partitions is known."""
    counts = {place: (partitions or {}).get(s.name, 1) for place, s in enumerate(graph.sources)}
    streams: Streams = {name: [own.item for own in given] for name, given in tuples.items()}
    ticks = [t for p, s in enumerate(graph.sources) for t in ticks_of(s, p, tuples[s.name], counts[p]) if s.event_time]
    ticks += [Tick(THE_END, "end")] if at_end == "fire" else []
    of = {own.item.position: own.partition for given in tuples.values() for own in given}
    for operator in graph.operators:
        if isinstance(operator, ops.Source):
            continue
        if goes_by_watermark(graph, operator):
            waiting = Watermarked(operator, graph, letters, counts, of)
            streams[operator.name] = waiting.run([streams[name] for name in operator.inputs], ticks)
        else:
            streams |= _run(operator, graph, streams, letters, at_end)
    wanted = [*(sink.name for sink in graph.sinks), *taps]
    rows = {name: [event.row for event in streams[name] if isinstance(event, Item)] for name in wanted}
    return rows, letters.letters


def _source(source: ops.Source, graph: Graph, rows: Sequence[Row], letters: Letters) -> Iterable[Item]:
    """Tuples at (stamp, place, sequence); a stamp that goes back counts as the highest so far.

    Those of a source that is merged with none have their sequence alone.
    """
    place, has_stamps = graph.sources.index(source), is_merged(graph, source)
    highest, sequence = -math.inf, 0
    for row in rows:
        forbidden = [f.name for f in source.schema if not f.nullable and row[f.name] is None]
        if forbidden:
            reason = f"has a null in '{forbidden[0]}', where its schema forbids it"
            letters.add(source.name, reason, row, source.schema)
            continue
        stamp = _stamp(source, row, sequence) if has_stamps or source.event_time is None else 0.0
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


def _run(operator: ops.Operator, graph: Graph, streams: Streams, letters: Letters, at_end: str) -> Streams:
    """The streams that an operator emits."""
    inputs = [streams[name] for name in operator.inputs]
    reference = _reference(operator, graph, inputs, letters)
    outputs = [_Numbered(3 + _depth(operator, graph), _stage(operator, graph)) for _ in operator.outputs]
    for port, event in merged(inputs):
        results = reference.on_tuple(port, event) if isinstance(event, Item) else reference.on_mark(port, event)
        for number, result in results:
            outputs[number].add(event, result)
    if at_end == "fire" and isinstance(operator, ops.Aggregate | ops.Sort):
        place = AT_TICK + graph.operators.index(operator)
        for number, row in enumerate(reference.at_end()):
            outputs[0].events.append(Item(filled((*THE_END, place, number), outputs[0].length), row))
    return dict(zip(operator.outputs, (output.events for output in outputs), strict=True))


def _depth(operator: ops.Operator, graph: Graph) -> int:
    """How many numbers follow the position in the source, at most: one an operator, two where punctuations fire."""
    if isinstance(operator, ops.Source):
        return 0
    if goes_by_watermark(graph, operator):
        return depth_of_results(operator, max(_depth(graph.producer(stream), graph) for stream in operator.inputs))
    more = 2 if _fires_at_marks(operator) else 1
    return max(_depth(graph.producer(stream), graph) for stream in operator.inputs) + more


def _fires_at_marks(operator: ops.Operator) -> bool:
    return isinstance(operator, ops.Aggregate | ops.Sort) and operator.window.measure == "punctuation"


def _stage(operator: ops.Operator, graph: Graph) -> int:
    """Behind how many operators that fire at punctuations it stands."""
    before = [graph.producer(stream) for stream in operator.inputs]
    return max((_stage(own, graph) + _fires_at_marks(own) for own in before), default=0)


class _Numbered:
    """A stream being written: what is emitted at one position is numbered on from 0, all positions of one length."""

    def __init__(self, length: int, stage: int) -> None:
        self.events: list[Event] = []
        self.position: Position = ()
        self.number, self.length, self.stage = 0, length, stage

    def add(self, event: Event, result: Event | Row) -> None:
        if isinstance(result, Item | Mark):  # it knows its position
            self.events.append(result)
            return
        position = filled(event.position, self.length - 1) if isinstance(event, Item) else of_results(event, self.stage)
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
