"""The pipeline of a micro-batch: elements one after the other, with an exchange in front of each but the first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.plan.keys import Scope, origin, partitioning_of


@dataclass(frozen=True, slots=True)
class PipelineElement:
    """Operators that run fused in one replica's task.

    `scope` says how its tuples may be told apart over replicas: not at all ('stream': one replica), by key, or freely.
    `inputs` are the streams that come to it through exchanges, `keys` the attributes that route each of them.
    """

    name: str
    operators: tuple[str, ...]
    scope: Scope
    inputs: tuple[str, ...] = ()
    keys: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Elements in the order in which they run; a stream may skip elements that do not read it."""

    elements: tuple[PipelineElement, ...]

    def element_of(self, operator: str) -> PipelineElement:
        return next(e for e in self.elements if operator in e.operators)

    def outputs_of(self, element: PipelineElement, graph: Graph) -> tuple[str, ...]:
        """The streams that leave an element for another one."""
        own = {s for name in element.operators for s in graph.operator(name).outputs}
        return tuple(dict.fromkeys(s for e in self.elements if e is not element for s in e.inputs if s in own))


class _Draft:
    """An element while it is being put together."""

    def __init__(self, scope: Scope, origins: frozenset[tuple[str, str]] | None) -> None:
        self.scope, self.origins = scope, origins
        self.operators: list[ops.Operator] = []


def pipeline_of(graph: Graph) -> Pipeline:
    """Fuses whatever may run in one task: exchanges stand only where a key changes or all come together."""
    drafts: list[_Draft] = [_Draft("none", None)]
    place: dict[str, int] = {}
    for operator in graph.operators:
        place[operator.name] = _place(graph, operator, place, drafts)
        drafts[place[operator.name]].operators.append(operator)
    return Pipeline(tuple(_element(graph, i, draft, place) for i, draft in enumerate(drafts)))


def _place(graph: Graph, operator: ops.Operator, place: dict[str, int], drafts: list[_Draft]) -> int:
    if isinstance(operator, ops.Source):
        return 0
    before = {place[graph.producer(stream).name] for stream in operator.inputs}
    last = max(before)
    scope, origins = _needs(graph, operator)
    if isinstance(operator, ops.Sink) or (scope == "none" and len(before) == 1):
        return last
    same = last > 0 and len(before) == 1
    if same and (drafts[last].scope == "stream" or (scope == "key" and drafts[last].origins == origins)):
        return last
    drafts.append(_Draft("stream" if scope == "none" else scope, origins))
    return len(drafts) - 1


def _needs(graph: Graph, operator: ops.Operator) -> tuple[Scope, frozenset[tuple[str, str]] | None]:
    partitioning = partitioning_of(operator)
    if partitioning.scope != "key":
        return partitioning.scope, None
    if isinstance(operator, ops.Aggregate) and operator.window.measure == "time":
        return "stream", None  # its clock is the whole stream's
    found = [
        frozenset(origin(graph, stream, key) for key in keys)
        for stream, keys in zip(operator.inputs, partitioning.keys, strict=True)
    ]
    return "key", found[0] if len(set(found)) == 1 else None


def _element(graph: Graph, number: int, draft: _Draft, place: dict[str, int]) -> PipelineElement:
    names = tuple(o.name for o in draft.operators)
    inputs = _unique(
        stream for o in draft.operators for stream in o.inputs if place[graph.producer(stream).name] != number
    )
    keys = tuple(_key(draft, stream) for stream in inputs)
    named = next((o.name for o in draft.operators if not isinstance(o, ops.Source)), names[0] if names else "empty")
    return PipelineElement(named, names, draft.scope, inputs, keys)


def _key(draft: _Draft, stream: str) -> tuple[str, ...]:
    """The attributes by which the tuples of a stream find their slot."""
    for operator in draft.operators:
        partitioning = partitioning_of(operator)
        if stream in operator.inputs and partitioning.scope == "key":
            return partitioning.keys[operator.inputs.index(stream)]
    return ()


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
