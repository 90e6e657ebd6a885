"""An explanation of an application: what each operator is, keeps and needs, and which elements it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.app.windows import MICROSECONDS
from penstock.block.schema import words_of
from penstock.plan.configuration import Configuration
from penstock.plan.elements.fusion import Element
from penstock.plan.elements.keys import partitioning_of
from penstock.plan.elements.merged_sources import goes_by_micro_batch, sources_that_meet
from penstock.plan.elements.order import streams_with_positions
from penstock.plan.elements.parallelism import Parallelism, parallelism_of, planned_parallelism
from penstock.plan.elements.pipeline import PipelineElement, pipeline_of, with_files_recorded
from penstock.plan.elements.watermarks import bounds_s, watermarks
from penstock.plan.fusion.requested import request_notes
from penstock.plan.plan import costs_of
from penstock.plan.state_size import GroupBytes, State, state_of


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
    event_time: str | None = None


@dataclass(frozen=True, slots=True)
class ElementPlan:
    """One element as it runs, and the replicas it can use."""

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


def explain(
    graph: Graph, kernel_bytes: Mapping[str, GroupBytes] | None = None, configuration: Configuration | None = None
) -> Explanation:
    """The explanation of a graph and of what runs of it, by default or with a Configuration.

    `kernel_bytes` has the bytes per group of operators whose kernel was asked.
    """
    on_spark = with_files_recorded(graph)
    chosen = Configuration.of(graph) if configuration is None else configuration
    pipeline = pipeline_of(on_spark, chosen.fused)
    elements = tuple(_element(on_spark, element) for element in pipeline.elements)
    home = {name: plan.element for plan in elements for name in plan.element.operators}
    operators = tuple(_operator(graph, o, home[o.name], kernel_bytes) for o in graph.operators)
    requested = request_notes(on_spark) if configuration is None else ()
    notes = (*requested, *costs_of(on_spark, pipeline), *_order_note(graph))
    return Explanation(graph.name, operators, tuple(graph.edges()), elements, notes)


def _element(graph: Graph, planned: PipelineElement) -> ElementPlan:
    requests = {request.operator: request for request in graph.requests}
    own = [requests.get(name) for name in planned.operators]
    partitions = {None if request is None else request.partition for request in own}
    host = next((request.host for request in own if request is not None and request.host), None)
    partition = partitions.pop() if len(partitions) == 1 else None
    return ElementPlan(Element(planned.name, planned.operators, partition, host), planned_parallelism(graph, planned))


def _operator(
    graph: Graph, operator: ops.Operator, element: Element, kernel_bytes: Mapping[str, GroupBytes] | None
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
        _event_time(graph, operator),
    )


def _event_time(graph: Graph, operator: ops.Operator) -> str | None:
    """What a source says about event time, and what the windows of an operator go by."""
    if isinstance(operator, ops.Source):
        if operator.event_time is None:
            return None
        bound = bounds_s(graph).get(operator.name)
        order = "the highest time so far is the clock" if bound is None else f"up to {bound:g} s out of order"
        idle = "" if operator.idle_timeout_s is None else f", idle after {operator.idle_timeout_s:g} s"
        return f"'{operator.event_time}', {order}{idle}"
    own = watermarks(graph).get(operator.name)
    if own is None:
        return None
    names = [source.name for source in graph.sources]
    lags = [f"{names[lag.place]} - {lag.behind_us / MICROSECONDS:g} s" for lag in own.sources]
    return "watermark " + (lags[0] if len(lags) == 1 else f"lowest of {', '.join(lags)}")


def _order_note(graph: Graph) -> tuple[str, ...]:
    if not goes_by_micro_batch(with_files_recorded(graph)):
        return ()
    names = ", ".join(f"'{s.name}'" for s in sources_that_meet(graph) if s.stamp is None and s.rate_tuples_s is None)
    return (f"on Spark, sources are merged in the order of micro-batches, as {names} has neither a stamp nor a rate",)


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
        need = "sets the order"
    elif len(operator.inputs) > 1 and partitioning_of(operator).scope != "key":
        need = "all inputs, merged in order"
    else:
        scope = partitioning_of(operator).scope
        need = {"none": "any", "key": "by key", "stream": "the whole stream"}[scope]
    positioned = streams_with_positions(graph)
    carries = any(stream in positioned for stream in operator.outputs)
    return need + ("; tuples carry positions, since they are merged further on" if carries else "")
