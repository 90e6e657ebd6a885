"""How a graph is laid out for micro-batches: the pipeline, and what must be known about order in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.plan.elements.event_time import goes_by_broadcast
from penstock.plan.elements.merged_sources import goes_by_micro_batch
from penstock.plan.elements.order import is_paced
from penstock.plan.elements.pipeline import Pipeline, PipelineElement, pipeline_of
from penstock.plan.elements.stateful import keeps_state_by_key, needs_element_by_slot
from penstock.plan.elements.watermarks import Watermark, element_positions, watermarks
from penstock.plan.fusion.groups import Fused, fused_of
from penstock.plan.fusion.needs import needs_of


@dataclass(frozen=True, slots=True)
class Layout:
    """`positioned` are the streams whose tuples must know their positions; `paced` the elements that time acts on.

    `event_time_elements` are the elements by key whose replicas are all told the clock or the punctuations of the whole
    stream.
    `watermarks` are those of operators that go by one, by element.
    `goes_by_micro_batch`: sources that meet have no stamps to be merged by.  `state_pipeline` is the pipeline by which
    state is kept: that of `event_time_operators` and `objects_by_slot` by slot, whatever element they are in.
    """

    pipeline: Pipeline
    positioned: frozenset[str]
    paced: tuple[int, ...]
    event_time_elements: tuple[int, ...]
    watermarks: Mapping[int, Mapping[str, Watermark]] = field(default_factory=dict)
    goes_by_micro_batch: bool = False
    event_time_operators: frozenset[str] = frozenset()
    objects_by_slot: frozenset[str] = frozenset()
    state_pipeline: Pipeline = field(default_factory=lambda: Pipeline(()))


def layout_of(graph: Graph, fused: Fused | Iterable[str] = ()) -> Layout:
    """The layout of a graph; where elements are as somebody asks for, state is kept as in the default layout."""
    given = fused_of(fused)
    pipeline = pipeline_of(graph, given)
    if given.groups is not None:
        return _grouped(graph, pipeline, layout_of(graph))
    by_slot = [e for e in pipeline.elements if needs_element_by_slot(graph, e)]
    clocked = frozenset(pipeline.elements[number].operators[0] for number in _event_time(graph, pipeline))
    return Layout(
        pipeline, _positioned(graph, _from_replicas(graph, pipeline)), _paced(graph, pipeline),
        _event_time(graph, pipeline), _watermarks(graph, pipeline), goes_by_micro_batch(graph), clocked,
        frozenset(n for e in by_slot for n in e.operators if keeps_state_by_key(graph.operator(n))) - clocked, pipeline,
    )  # fmt: skip


def _grouped(graph: Graph, pipeline: Pipeline, default: Layout) -> Layout:
    """Streams that have positions by default have them here, too: state may have them in it."""
    return replace(
        default, pipeline=pipeline, positioned=_positioned(graph, default.positioned | _out_of_order(graph, pipeline)),
        paced=_paced(graph, pipeline), event_time_elements=_event_time(graph, pipeline),
        watermarks=_watermarks(graph, pipeline),
    )  # fmt: skip


def _positioned(graph: Graph, others: Iterable[str]) -> frozenset[str]:
    """Streams that are merged, have ticks, lead to a sink in total order, and some others; with all before them."""
    needed = {*element_positions(graph), *others}
    for operator in reversed(graph.operators):
        keeps = isinstance(operator, ops.Sink) and operator.connector.promise.in_order
        if keeps or any(stream in needed for stream in operator.outputs):
            needed.update((operator.name,) if keeps else (), operator.inputs)
    return frozenset(needed)


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


def _out_of_order(graph: Graph, pipeline: Pipeline) -> set[str]:
    """The same of elements as somebody asks for: streams out of order that an operator behind an exchange minds."""
    found = {stream for number in _event_time(graph, pipeline) for stream in pipeline.elements[number].inputs}
    for element in pipeline.elements:
        for stream in element.inputs:
            sender = pipeline.element_of(graph.producer(stream).name)
            if not keeps_order(graph, pipeline, sender) and _minds_order(graph, element, stream):
                found.add(stream)
    return found


def _minds_order(graph: Graph, element: PipelineElement, stream: str) -> bool:
    """Whether an operator of an element that a stream leads to has state, or several inputs."""
    reached = {stream}
    for operator in map(graph.operator, element.operators):
        if reached & set(operator.inputs) and not isinstance(operator, ops.Sink):
            if needs_of(graph, operator)[0] != "none" or len(operator.inputs) > 1:
                return True
            reached |= set(operator.outputs)
    return False


def keeps_order(graph: Graph, pipeline: Pipeline, element: PipelineElement) -> bool:
    """Whether the numbers of its blocks tell their order: they are one replica's, or those of a source's offsets."""
    senders = [pipeline.element_of(graph.producer(stream).name) for stream in element.inputs]
    in_turn = element.scope == "none" and all(keeps_order(graph, pipeline, sender) for sender in senders)
    return element.scope == "stream" or in_turn


def numbered_streams(graph: Graph, pipeline: Pipeline, element: PipelineElement) -> frozenset[str]:
    """The streams that come to a stateless element, or begin in it, in blocks whose numbers tell their order.

    Replicas pass these numbers on.  What an operator with several inputs merges goes by positions instead.
    """
    if element.scope != "none":
        return frozenset()
    operators = [graph.operator(name) for name in element.operators]
    sources = {operator.name for operator in operators if isinstance(operator, ops.Source)}
    inputs = {stream for stream in element.inputs if _is_numbered(graph, pipeline, stream)}
    return frozenset(stream for stream in sources | inputs if not _is_merged(operators, stream))


def _is_merged(operators: Iterable[ops.Operator], stream: str) -> bool:
    """Whether a stream leads to one of these operators that has several inputs."""
    reached = {stream}
    for operator in operators:
        if reached & set(operator.inputs):
            if len(operator.inputs) > 1:
                return True
            reached |= set(operator.outputs)
    return False


def _is_numbered(graph: Graph, pipeline: Pipeline, stream: str) -> bool:
    """Whether one replica numbers a stream's blocks, or stateless ones pass on the numbers that they came with."""
    sender = pipeline.element_of(graph.producer(stream).name)
    if sender.scope != "none":
        return sender.scope == "stream"
    while (producer := graph.producer(stream)).inputs and producer.name in sender.operators:
        if len(producer.inputs) > 1:
            return False
        stream = producer.inputs[0]
    return stream in numbered_streams(graph, pipeline, sender)


def keeps_sequence(graph: Graph, pipeline: Pipeline, element: PipelineElement) -> bool:
    """Whether its blocks are numbered by the offsets of the tuples they came from, whatever replica sends them."""
    senders = [pipeline.element_of(graph.producer(stream).name) for stream in element.inputs]
    return element.scope == "none" and all(keeps_sequence(graph, pipeline, sender) for sender in senders)


def _paced(graph: Graph, pipeline: Pipeline) -> tuple[int, ...]:
    return tuple(
        number
        for number, element in enumerate(pipeline.elements)
        if any(is_paced(graph, graph.operator(name)) for name in element.operators)
    )


def _watermarks(graph: Graph, pipeline: Pipeline) -> dict[int, dict[str, Watermark]]:
    found: dict[int, dict[str, Watermark]] = {}
    for name, watermark in watermarks(graph).items():
        number = next(n for n, element in enumerate(pipeline.elements) if name in element.operators)
        found.setdefault(number, {})[name] = watermark
    return found


def _event_time(graph: Graph, pipeline: Pipeline) -> tuple[int, ...]:
    return tuple(
        number
        for number, element in enumerate(pipeline.elements)
        if element.scope == "key" and goes_by_broadcast(graph, graph.operator(element.operators[0]))
    )
