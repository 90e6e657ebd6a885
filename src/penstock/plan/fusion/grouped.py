"""Groups of operators -> the pipeline: how the tuples of each element may be divided over replicas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.plan.elements.event_time import goes_by_broadcast, has_time_windows
from penstock.plan.elements.keys import Scope, copied_from, partitioning_of
from penstock.plan.elements.stateful import is_stored
from penstock.plan.fusion.groups import Groups
from penstock.plan.fusion.needs import needs_of
from penstock.plan.fusion.pipeline_element import INTAKE, Pipeline, PipelineElement

_Routes = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Share:
    """What tuples a replica of an element may have; `because`: why it must have all of them."""

    scope: Scope
    routes: _Routes
    because: str = ""


def grouped_pipeline(graph: Graph, groups: Groups, default: Pipeline) -> Pipeline:
    """The pipeline of groups that are complete and in order.

    State is kept as the `default` pipeline keeps it, so that a fusion can change while an application runs: an operator
    by key whose state is one object there has one replica here, too.
    """
    elements = [_element(graph, group, default) for group in groups]
    if not default.has_intake:
        return Pipeline(tuple(elements))
    return Pipeline((PipelineElement("read", (), "none"), *elements), has_intake=True)


def _element(graph: Graph, group: tuple[str, ...], default: Pipeline) -> PipelineElement:
    members = [graph.operator(name) for name in group]
    reads = any(isinstance(member, ops.Source) for member in members)
    share = _share(graph, members, default)
    if default.has_intake and reads:
        share = _Share("stream", {}, "it puts the tuples of all sources in order")
    inputs = dict.fromkeys(s for o in members for s in o.inputs if graph.producer(s).name not in group)
    keys = tuple(share.routes.get(stream, ()) for stream in inputs)
    name = next((o.name for o in members if not isinstance(o, ops.Source)), group[0])
    if default.has_intake and reads:
        name = INTAKE
    like = {n: None for o in members if needs_of(graph, o)[0] == "key" for n in default.element_of(o.name).operators}
    return PipelineElement(name, group, share.scope, tuple(inputs), keys, tuple(like), share.because)


def _share(graph: Graph, members: Sequence[ops.Operator], default: Pipeline) -> _Share:
    names = {member.name for member in members}
    working = [member for member in members if not isinstance(member, ops.Source | ops.Sink)]
    keyed = []
    for operator in working:
        scope = needs_of(graph, operator)[0]
        if scope == "stream":
            return _whole(f"'{operator.name}' needs the whole stream ({_why_whole(graph, operator)})")
        if scope == "key":
            if default.element_of(operator.name).scope != "key" and not is_stored(graph, operator):
                return _whole(f"'{operator.name}' keeps its state in one part, as in the default plan")
            keyed.append(operator)
        elif len(operator.inputs) > 1 and not {graph.producer(s).name for s in operator.inputs} <= names:
            return _whole(f"'{operator.name}' merges streams of several elements")
    if not keyed:
        return _Share("none", {})
    if any(isinstance(member, ops.Source) for member in members):
        return _whole(f"its source reads for '{keyed[0].name}', which goes by key, without an exchange between them")
    return _by_key(graph, names, members, keyed)


def _by_key(graph: Graph, names: set[str], members: Sequence[ops.Operator], keyed: Sequence[ops.Operator]) -> _Share:
    """By key where each stream that comes in has one key, by which all operators behind it go."""
    clocked = next((o for o in keyed if goes_by_broadcast(graph, o)), None)
    if clocked is not None:
        others = [o.name for o in keyed if o is not clocked]
        inside = [graph.producer(s).name for s in clocked.inputs if graph.producer(s).name in names]
        ahead = [
            member.name for member in members[: members.index(clocked)]
        ]  # ticks come to an element for its first operator
        if inside or others or ahead:
            by = "clock" if has_time_windows(clocked) else "punctuations"
            return _whole(f"'{clocked.name}' goes by the {by} of the whole stream and follows or runs next to "
                          f"'{(inside or others or ahead)[0]}' in one element")  # fmt: skip
    routes: _Routes = {}
    for operator in keyed:
        for stream, key in zip(operator.inputs, partitioning_of(operator).keys, strict=True):
            found = _routed(graph, names, stream, key)
            if found is None:
                return _whole(f"the key of '{operator.name}' ({', '.join(key)}) is computed in the element itself")
            if routes.setdefault(found[0], found[1]) != found[1]:
                return _whole(f"'{found[0]}' would have to be distributed by {_listed(routes[found[0]])} and by "
                              f"{_listed(found[1])}, and an element distributes its tuples by one key")  # fmt: skip
    for operator in members:
        for stream in operator.inputs:
            if stream not in routes and graph.producer(stream).name not in names:
                return _whole(f"'{operator.name}' reads '{stream}', which has no key of the element's operators")
    return _Share("key", routes)


def _routed(graph: Graph, names: set[str], stream: str, key: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """The stream that comes into the element, and its attributes that become the key; None where there are none."""
    while graph.producer(stream).name in names:
        copied = [copied_from(graph, stream, attribute) for attribute in key]
        streams = {own[0] for own in copied if own is not None}
        if len(streams) != 1 or None in copied:
            return None
        stream, key = streams.pop(), tuple(own[1] for own in copied if own is not None)
    return stream, key


def _whole(because: str) -> _Share:
    return _Share("stream", {}, because)


def _why_whole(graph: Graph, operator: ops.Operator) -> str:
    partitioning = partitioning_of(operator)
    return partitioning.because if partitioning.scope == "stream" else "its results depend on the order of all tuples"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
