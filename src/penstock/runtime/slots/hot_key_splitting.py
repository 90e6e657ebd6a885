"""Which elements may have split slots: hot keys whose aggregates are computed in two stages."""

from __future__ import annotations

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.errors import InputError
from penstock.operators.event_time.partial_aggregates import can_be_split
from penstock.plan.configuration import Configuration
from penstock.plan.elements.layout import Layout, keeps_sequence, layout_of
from penstock.plan.elements.order import sources_of
from penstock.plan.elements.pipeline import PipelineElement


def splittable(graph: Graph, layout: Layout) -> tuple[str, ...]:
    """The elements whose slots can be split."""
    return tuple(e.name for e in layout.pipeline.elements if why_whole(graph, layout, e) is None)


def why_whole(graph: Graph, layout: Layout, element: PipelineElement) -> str | None:
    """Why slots of an element cannot be split; None where they can."""
    number = layout.pipeline.elements.index(element)
    operator = graph.operator(element.operators[0]) if element.operators else None
    if number not in layout.event_time_elements or not isinstance(operator, ops.Aggregate):
        return "only aggregates over time windows by key can be computed in two stages"
    if operator.window.measure != "time":
        return "only aggregates over time windows by key can be computed in two stages"
    if number in layout.watermarks:
        return "its tuples wait for a watermark and come to its windows in the order of their event times"
    stream = operator.inputs[0]
    if not can_be_split(operator, graph.producer(stream).schema):
        return "its aggregates have other bits when put together from parts (sums of floats, stddev), or need all rows"
    sender = layout.pipeline.element_of(graph.producer(stream).name)
    in_turn = keeps_sequence(graph, layout.pipeline, sender) and len(sources_of(graph, stream)) == 1
    if sender.scope != "stream" and not in_turn:
        return "its blocks come from several replicas or sources, so that others may stand between their tuples"
    return None


def check_split(graph: Graph, configuration: Configuration) -> None:
    """Raises InputError where slots are to be split that cannot be."""
    if not any(own.split for own in configuration.elements):
        return
    layout = layout_of(graph, configuration.fused)
    for element, own in zip(layout.pipeline.elements, configuration.elements, strict=True):
        if own.split and (because := why_whole(graph, layout, element)) is not None:
            raise InputError(f"the slots of element '{own.name}' cannot be split: {because}")
