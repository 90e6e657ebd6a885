"""The pipeline of a graph: by default whatever may run in one task is fused; else as somebody asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.connectors.files.readers import is_one_file
from penstock.connectors.source_kinds import recorded_source
from penstock.errors import InputError, did_you_mean
from penstock.plan.elements.keys import Scope, partitioning_of
from penstock.plan.elements.merged_sources import needs_intake
from penstock.plan.fusion.grouped import grouped_pipeline
from penstock.plan.fusion.groups import Fused, complete_groups, fused_of
from penstock.plan.fusion.needs import needs_of
from penstock.plan.fusion.pipeline_element import INTAKE, Pipeline, PipelineElement

__all__ = ["INTAKE", "Pipeline", "PipelineElement", "pipeline_of", "with_files_recorded"]


class _Draft:
    """An element while it is being put together."""

    def __init__(self, scope: Scope, origins: frozenset[tuple[str, str]] | None) -> None:
        self.scope, self.origins = scope, origins
        self.operators: list[ops.Operator] = []


class _Drafts:
    """Puts operators into elements, one after the other."""

    def __init__(self, graph: Graph, unfused: frozenset[str]) -> None:
        self.graph, self.unfused = graph, unfused
        self.has_intake = needs_intake(graph)
        self.drafts = [_Draft("none", None)]
        if self.has_intake:
            self.drafts.append(_Draft("stream", None))
        self.place: dict[str, int] = {}

    def add(self, operator: ops.Operator) -> None:
        place = self._place(operator)
        self.place[operator.name] = place
        self.drafts[place].operators.append(operator)

    def _place(self, operator: ops.Operator) -> int:
        if isinstance(operator, ops.Source):
            return int(self.has_intake)
        before = {self.place[self.graph.producer(stream).name] for stream in operator.inputs}
        last = max(before)
        if isinstance(operator, ops.Sink):
            return last
        scope, origins = needs_of(self.graph, operator)
        if operator.name not in self.unfused and self._fits(last, scope, origins, alone=len(before) == 1):
            return last
        self.drafts.append(_Draft("stream" if scope == "none" and len(before) > 1 else scope, origins))
        return len(self.drafts) - 1

    def _fits(self, place: int, scope: Scope, origins: frozenset[tuple[str, str]] | None, *, alone: bool) -> bool:
        """Whether an operator may join the element of its last input; `alone`: all its inputs come from there."""
        draft = self.drafts[place]
        if scope == "none" and alone:
            return True
        if place == 0:
            return False
        if draft.scope == "stream":  # the intake is short: what can be divided by key runs in parallel after it
            return scope != "key" or not (self.has_intake and place == 1)
        return alone and scope == "key" and draft.origins is not None and draft.origins == origins


def pipeline_of(graph: Graph, fused: Fused | Iterable[str] = ()) -> Pipeline:
    """Fuses whatever may run in one task: exchanges stand only where a key changes or all come together.

    `fused` has operators that begin an element of their own all the same, or says which operators run together.
    """
    given = fused_of(fused)
    if given.groups is not None:
        return grouped_pipeline(graph, complete_groups(graph, given.groups), pipeline_of(graph))
    apart = frozenset(given.unfused)
    _check_unfused(graph, apart)
    drafts = _Drafts(graph, apart)
    for operator in graph.operators:
        drafts.add(operator)
    elements = tuple(_element(graph, i, draft, drafts.place) for i, draft in enumerate(drafts.drafts))
    return Pipeline(elements, drafts.has_intake)


def with_files_recorded(graph: Graph) -> Graph:
    """The graph as it runs on Spark: single files, which have an end, are recorded first, and their stamps known."""
    return replace(graph, operators=tuple(map(_recorded_if_a_file, graph.operators)))


def _recorded_if_a_file(operator: ops.Operator) -> ops.Operator:
    if isinstance(operator, ops.Source) and is_one_file(operator.connector):
        return replace(operator, connector=recorded_source(""))
    return operator


def _check_unfused(graph: Graph, unfused: frozenset[str]) -> None:
    names = [o.name for o in graph.operators if not isinstance(o, ops.Source | ops.Sink)]
    for name in sorted(unfused - set(names)):
        hint = did_you_mean(name, names)
        raise InputError(f"only operators between sources and sinks can be unfused: {', '.join(names)}; got '{name}'"
                         + (f"; {hint}" if hint else ""))  # fmt: skip


def _element(graph: Graph, number: int, draft: _Draft, place: dict[str, int]) -> PipelineElement:
    names = tuple(o.name for o in draft.operators)
    inputs = _unique(
        stream for o in draft.operators for stream in o.inputs if place[graph.producer(stream).name] != number
    )
    keys = tuple(_key(draft, stream) for stream in inputs)
    named = next((o.name for o in draft.operators if not isinstance(o, ops.Source)), names[0] if names else "read")
    if any(isinstance(o, ops.Source) for o in draft.operators) and number:
        named = INTAKE
    return PipelineElement(named, names, draft.scope, inputs, keys)


def _key(draft: _Draft, stream: str) -> tuple[str, ...]:
    """The attributes by which the tuples of a stream find their slot."""
    if draft.scope != "key":
        return ()
    for operator in draft.operators:
        partitioning = partitioning_of(operator)
        if stream in operator.inputs and partitioning.scope == "key":
            return partitioning.keys[operator.inputs.index(stream)]
    return ()


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
