"""The plan of an application: the elements that `penstock explain` prints, that run, and that the journal names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.app.application import Application, graph_of
from penstock.app.graph import Graph
from penstock.app.operators import Sink, Source
from penstock.arguments import check_arguments, kind, or_none
from penstock.plan.configuration import Configuration, check_configuration
from penstock.plan.elements.keys import Scope
from penstock.plan.elements.pipeline import Pipeline, PipelineElement, pipeline_of, with_files_recorded
from penstock.plan.fusion.needs import needs_of


@dataclass(frozen=True, slots=True)
class PlannedElement:
    """Operators that run as one, and the replicas that they have.

    `scope`: its tuples go to replicas freely ('none'), by key, or all to one ('stream').  `because` says why it has one
    replica where operators of it could have more in an element of their own.
    """

    name: str
    operators: tuple[str, ...]
    scope: Scope
    replicas: int
    because: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Elements in the order in which they run; `notes` are what the fusion costs."""

    elements: tuple[PlannedElement, ...]
    notes: tuple[str, ...] = ()

    def element_of(self, operator: str) -> PlannedElement:
        """The element that an operator is in."""
        return next(element for element in self.elements if operator in element.operators)


def plan_of(app: Application | Graph, configuration: Configuration | None = None) -> Plan:
    """What runs of an application with a Configuration, by default that of `app.configuration()`.

    >>> app = Application("halves")
    >>> app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
    >>> [(element.name, element.operators) for element in plan_of(app).elements]
    [('half', ('numbers', 'half', 'out'))]
    """
    check_arguments(
        "ps.plan_of", configuration=(configuration, or_none(kind("a ps.Configuration", Configuration)))
    )  # fmt: skip
    graph = with_files_recorded(graph_of(app, "ps.plan_of"))
    chosen = Configuration.of(graph) if configuration is None else configuration
    pipeline = pipeline_of(graph, chosen.fused)
    check_configuration(chosen, pipeline)
    elements = [
        PlannedElement(e.name, e.operators, e.scope, chosen.element(e.name).replicas, e.because)
        for e in pipeline.elements
    ]
    return Plan(tuple(elements), tuple(costs_of(graph, pipeline)))


def costs_of(graph: Graph, pipeline: Pipeline) -> Iterable[str]:
    """A sentence for each element that has one replica although operators of it could have more elsewhere."""
    for element in pipeline.elements:
        if element.scope == "stream" and element.because and (freer := _freer(graph, element)):
            names = ", ".join(f"'{name}'" for name in freer)
            yield (f"element '{element.name}' runs on one replica, since {element.because}; {names} could run on "
                   "several in elements of their own")  # fmt: skip


def _freer(graph: Graph, element: PipelineElement) -> list[str]:
    working = [o for o in map(graph.operator, element.operators) if not isinstance(o, Source | Sink)]
    scopes = {o.name: needs_of(graph, o)[0] for o in working}
    return [o.name for o in working if scopes[o.name] == "key" or (scopes[o.name] == "none" and len(o.inputs) == 1)]
