"""The pipeline of a micro-batch: elements one after the other, with an exchange in front of each but the first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.connectors.files.readers import is_one_file
from penstock.connectors.recorded import RecordedSource
from penstock.connectors.trace.source import TraceSource
from penstock.errors import InputError, did_you_mean
from penstock.plan.elements.event_time import has_time_windows, is_keyed_event_time
from penstock.plan.elements.keys import Scope, origin, partitioning_of
from penstock.plan.elements.order import is_paced, streams_with_positions
from penstock.plan.elements.punctuated_streams import punctors_by_stream

INTAKE = "@intake"


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
    """Elements in the order in which they run; a stream may skip elements that do not read it.

    `has_intake`: the first element only reads, and the second puts the tuples of all sources in order.
    """

    elements: tuple[PipelineElement, ...]
    has_intake: bool = False

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


class _Drafts:
    """Puts operators into elements, one after the other."""

    def __init__(self, graph: Graph, unfused: frozenset[str]) -> None:
        self.graph, self.unfused = graph, unfused
        self.marked = punctors_by_stream(graph)
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
        scope, origins = self._needs(operator)
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
        if draft.scope == "stream":  # the intake is kept short: what can be told apart by key goes on in parallel
            return scope != "key" or not (self.has_intake and place == 1)
        return alone and scope == "key" and draft.origins is not None and draft.origins == origins

    def _needs(self, operator: ops.Operator) -> tuple[Scope, frozenset[tuple[str, str]] | None]:
        partitioning = partitioning_of(operator)
        counts = isinstance(operator, ops.Punctor) or is_paced(self.graph, operator)
        if counts or any(self.marked[stream] for stream in operator.inputs) or _needs_marks(operator):
            return "stream", None
        if has_time_windows(operator):  # alone with what is stateless: its tuples are not the only ones it hears of
            return ("key" if is_keyed_event_time(self.graph, operator) else "stream"), None
        if partitioning.scope != "key":
            return partitioning.scope, None
        found = [
            frozenset(origin(self.graph, stream, key) for key in keys)
            for stream, keys in zip(operator.inputs, partitioning.keys, strict=True)
        ]
        return "key", found[0] if len(set(found)) == 1 else None


def pipeline_of(graph: Graph, unfused: Iterable[str] = ()) -> Pipeline:
    """Fuses whatever may run in one task: exchanges stand only where a key changes or all come together.

    `unfused` are operators that begin an element of their own all the same.
    """
    apart = frozenset(unfused)
    _check_unfused(graph, apart)
    drafts = _Drafts(graph, apart)
    for operator in graph.operators:
        drafts.add(operator)
    elements = tuple(_element(graph, i, draft, drafts.place) for i, draft in enumerate(drafts.drafts))
    return Pipeline(elements, drafts.has_intake)


def needs_intake(graph: Graph) -> bool:
    """Whether tuples of sources must first be put in order in one place, since their stamps are known only from them.

    Sources whose tuples are known by their offsets (traces) have stamps that are known beforehand.
    """
    merged = [s for s in graph.sources if s.name in streams_with_positions(graph)]
    paced = any(is_paced(graph, operator) for operator in graph.operators)
    return (len(merged) > 1 or paced) and not all(has_known_stamps(source) for source in merged)


def has_known_stamps(source: ops.Source) -> bool:
    if isinstance(source.connector, RecordedSource):
        return True
    return isinstance(source.connector, TraceSource) and source.stamp is None


def with_files_recorded(graph: Graph) -> Graph:
    """The graph as it runs on Spark: single files, which have an end, are recorded first, and their stamps known."""
    return replace(graph, operators=tuple(map(_recorded_if_a_file, graph.operators)))


def _recorded_if_a_file(operator: ops.Operator) -> ops.Operator:
    if isinstance(operator, ops.Source) and is_one_file(operator.connector):
        return replace(operator, connector=RecordedSource(""))
    return operator


def _check_unfused(graph: Graph, unfused: frozenset[str]) -> None:
    names = [o.name for o in graph.operators if not isinstance(o, ops.Source | ops.Sink)]
    for name in sorted(unfused - set(names)):
        hint = did_you_mean(name, names)
        raise InputError(f"only operators between sources and sinks can be unfused: {', '.join(names)}; got '{name}'"
                         + (f"; {hint}" if hint else ""))  # fmt: skip


def _needs_marks(operator: ops.Operator) -> bool:
    """Whether its windows run on the punctuations of the whole stream."""
    return isinstance(operator, ops.Aggregate) and operator.window.measure == "punctuation"


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
