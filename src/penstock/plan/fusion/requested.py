"""The fusion that the application itself asks for, by the partitions of its operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.app import operators as ops
from penstock.app.graph import Graph, Request
from penstock.plan.elements.fusion import Fusion, fuse
from penstock.plan.elements.merged_sources import needs_intake
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.fusion.groups import Fused, Groups, complete_groups

_TOGETHER = "@"  # before the name of a default element: what of it nobody asked for stays together where it can


def requested_fusion(graph: Graph) -> Fused:
    """Elements as the partitions of the application say; the default ones where it has none."""
    if not any(request.partition is not None for request in graph.requests):
        return Fused()
    groups = tuple(element.operators for element in requested_elements(graph).elements)
    return Fused((), complete_groups(graph, _with_one_intake(graph, groups)))


def requested_elements(graph: Graph) -> Fusion:
    """Partitions, split where they must be, and what is left of the default elements."""
    return fuse(replace(graph, requests=tuple(_requests(graph))))


def request_notes(graph: Graph) -> tuple[str, ...]:
    """A sentence for each partition that is not one element."""
    if not any(request.partition is not None for request in graph.requests):
        return ()
    return tuple(note for note in requested_elements(graph).notes if not note.startswith(f"partition '{_TOGETHER}"))


def _requests(graph: Graph) -> Iterable[Request]:
    """The user's partitions; whoever is in none is with those of its default element who are in none either."""
    default, last = pipeline_of(graph), {request.operator: request for request in graph.requests}
    partition: dict[str, str] = {}
    for operator in graph.operators:
        own = last[operator.name].partition if operator.name in last else None
        if own is None and isinstance(operator, ops.Sink):
            own = partition[graph.producer(operator.inputs[0]).name]
        partition[operator.name] = own or _TOGETHER + default.element_of(operator.name).name
        host = last[operator.name].host if operator.name in last and last[operator.name].partition else None
        yield Request(operator.name, partition[operator.name], host)


def _with_one_intake(graph: Graph, groups: Groups) -> Groups:
    """Where sources are put in order in one place and are in several groups, none of them is named."""
    sources = {source.name for source in graph.sources}
    if not needs_intake(graph) or any(sources <= set(group) for group in groups):
        return groups
    left = [tuple(name for name in group if name not in sources) for group in groups]
    return tuple(group for group in left if group)
