"""How a graph is laid out for micro-batches: the pipeline, and what must be known about order in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.connectors.discard import DiscardSink
from penstock.plan.elements.event_time import is_keyed_event_time
from penstock.plan.elements.order import is_paced, streams_with_positions
from penstock.plan.elements.pipeline import Pipeline, PipelineElement, pipeline_of


@dataclass(frozen=True, slots=True)
class Layout:
    """`positioned` are the streams whose tuples must know their positions; `paced` the elements that time acts on.

    `event_time_elements` are the elements by key whose replicas are all told the clock of the whole stream.
    """

    pipeline: Pipeline
    positioned: frozenset[str]
    paced: tuple[int, ...]
    event_time_elements: tuple[int, ...]


def layout_of(graph: Graph, unfused: Iterable[str] = ()) -> Layout:
    pipeline = pipeline_of(graph, unfused)
    return Layout(pipeline, _positioned(graph, pipeline), _paced(graph, pipeline), _event_time(graph, pipeline))


def _positioned(graph: Graph, pipeline: Pipeline) -> frozenset[str]:
    """Streams that are merged, or told a clock, that lead to a sink that keeps order, or come from several replicas."""
    needed = set(streams_with_positions(graph)) | _from_replicas(graph, pipeline)
    for operator in reversed(graph.operators):
        keeps = isinstance(operator, ops.Sink) and _keeps_order(operator)
        if keeps or any(stream in needed for stream in operator.outputs):
            needed.update((operator.name,) if keeps else (), operator.inputs)
    return frozenset(needed)


def _keeps_order(sink: ops.Sink) -> bool:
    return not isinstance(sink.connector, DiscardSink) and bool(getattr(sink.connector, "ordered", True))


def _from_replicas(graph: Graph, pipeline: Pipeline) -> set[str]:
    """Streams between elements whose order the exchange does not keep; tuples of sources are in order of offsets."""
    found = {stream for number in _event_time(graph, pipeline) for stream in pipeline.elements[number].inputs}
    for element in pipeline.elements[1:]:
        if element.scope == "none":
            continue
        for stream in element.inputs:
            sender = pipeline.element_of(graph.producer(stream).name)
            if sender.scope != "stream" and not keeps_sequence(graph, pipeline, sender):
                found.add(stream)
    return found


def keeps_sequence(graph: Graph, pipeline: Pipeline, element: PipelineElement) -> bool:
    """Whether its blocks are numbered by the offsets of the tuples they came from, whatever replica sends them."""
    if element is pipeline.elements[0]:
        return True
    senders = [pipeline.element_of(graph.producer(stream).name) for stream in element.inputs]
    return element.scope == "none" and all(keeps_sequence(graph, pipeline, sender) for sender in senders)


def _paced(graph: Graph, pipeline: Pipeline) -> tuple[int, ...]:
    return tuple(
        number
        for number, element in enumerate(pipeline.elements)
        if any(is_paced(graph, graph.operator(name)) for name in element.operators)
    )


def _event_time(graph: Graph, pipeline: Pipeline) -> tuple[int, ...]:
    return tuple(
        number
        for number, element in enumerate(pipeline.elements)
        if element.scope == "key" and is_keyed_event_time(graph, graph.operator(element.operators[0]))
    )
