"""An explanation of an application: what each operator is, keeps and needs, and which elements it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.schema import words_of
from penstock.plan.elements.fusion import Element, fuse
from penstock.plan.elements.keys import partitioning_of
from penstock.plan.elements.order import streams_with_positions
from penstock.plan.elements.parallelism import Parallelism, parallelism_of, parallelism_of_element
from penstock.plan.state_size import State, state_of


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """One operator, explained; `windows` has its windows as text, `keys` those of each input."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    schema: Mapping[str, str]
    windows: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    order: str
    state: State
    parallelism: Parallelism
    element: str
    place: str | None


@dataclass(frozen=True, slots=True)
class ElementPlan:
    """One element and the replicas it can use."""

    element: Element
    parallelism: Parallelism


@dataclass(frozen=True, slots=True)
class Explanation:
    """All there is to say about an application before it runs."""

    application: str
    operators: tuple[OperatorPlan, ...]
    edges: tuple[tuple[str, str, str], ...]
    elements: tuple[ElementPlan, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The same as plain lists and mappings."""
        return asdict(self)


def explain(graph: Graph, kernel_bytes: Mapping[str, int] | None = None) -> Explanation:
    """The explanation of a graph; `kernel_bytes` has the bytes per group of operators whose kernel was asked."""
    fusion = fuse(graph)
    operators = tuple(_operator(graph, o, fusion.element_of(o.name), kernel_bytes) for o in graph.operators)
    elements = tuple(ElementPlan(element, parallelism_of_element(graph, element)) for element in fusion.elements)
    return Explanation(graph.name, operators, tuple(graph.edges()), elements, fusion.notes)


def _operator(
    graph: Graph, operator: ops.Operator, element: Element, kernel_bytes: Mapping[str, int] | None
) -> OperatorPlan:
    return OperatorPlan(
        operator.name,
        type(operator).__name__.lower(),
        operator.inputs,
        words_of(operator.schema),
        tuple(_windows(operator)),
        partitioning_of(operator).keys,
        _order(graph, operator),
        state_of(graph, operator, kernel_bytes),
        parallelism_of(operator),
        element.name,
        None if operator.place is None else str(operator.place),
    )


def _windows(operator: ops.Operator) -> list[str]:
    match operator:
        case ops.Join():
            return [f"left {operator.left_window}", f"right {operator.right_window}"]
        case ops.Aggregate() | ops.Sort():
            return [str(operator.window)]
        case _:
            return []


def _order(graph: Graph, operator: ops.Operator) -> str:
    """In which order an operator must see its tuples, and whether they must carry their positions."""
    if isinstance(operator, ops.Source):
        need = "gives the order"
    elif len(operator.inputs) > 1 and partitioning_of(operator).scope != "key":
        need = "all inputs in their one order"
    else:
        scope = partitioning_of(operator).scope
        need = {"none": "any", "key": "by key", "stream": "the whole stream"}[scope]
    positioned = streams_with_positions(graph)
    carries = any(stream in positioned for stream in operator.outputs)
    return need + ("; tuples carry positions, as they are merged further on" if carries else "")
