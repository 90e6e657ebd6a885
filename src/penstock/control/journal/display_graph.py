"""The graph of an application as a viewer draws it: names and no code, so that nothing pickled is ever opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.app.graph import Graph
    from penstock.plan.fusion.groups import Fused


@dataclass(frozen=True, slots=True)
class DisplayOperator:
    """An operator, what kind it is, the operators that it reads, and the element that runs it."""

    name: str
    kind: str
    inputs: tuple[str, ...] = ()
    element: str = ""


@dataclass(frozen=True, slots=True)
class DisplayElement:
    """An element; `scope`: which tuples a replica may get: 'none' (any), 'key' or 'stream' (all of them)."""

    name: str
    scope: str = "none"


@dataclass(frozen=True, slots=True)
class DisplayGraph:
    """Operators in the order they were written, which is a topological order."""

    operators: tuple[DisplayOperator, ...] = ()
    elements: tuple[DisplayElement, ...] = ()


def display_graph(graph: Graph, fused: Fused | Iterable[str] = ()) -> DisplayGraph:
    """What a viewer needs of a graph, with its operators fused as they are."""
    from penstock.plan.elements.pipeline import pipeline_of  # the driver alone needs it, not who reads the journal

    pipeline = pipeline_of(graph, fused)
    places = {name: element.name for element in pipeline.elements for name in element.operators}
    reads: dict[str, list[str]] = {operator.name: [] for operator in graph.operators}
    for producer, _, reader in graph.edges():
        reads[reader].append(producer)
    return DisplayGraph(
        tuple(
            DisplayOperator(o.name, type(o).__name__.lower(), tuple(dict.fromkeys(reads[o.name])), places[o.name])
            for o in graph.operators
        ),
        tuple(DisplayElement(element.name, element.scope) for element in pipeline.elements),
    )
