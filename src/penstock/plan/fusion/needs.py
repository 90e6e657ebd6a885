"""What an operator asks of the element that it runs in: any share of the tuples, those of a key, or all of them."""

from __future__ import annotations

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.plan.elements.event_time import has_time_windows, is_keyed_event_time
from penstock.plan.elements.keys import Scope, origin, partitioning_of
from penstock.plan.elements.order import is_paced
from penstock.plan.elements.punctuated_streams import fires_at_punctuations, punctuated

Origins = frozenset[tuple[str, str]]


def needs_of(graph: Graph, operator: ops.Operator) -> tuple[Scope, Origins | None]:
    """The scope of an operator, and the attributes that its key was first computed as.

    Operators with windows by time or punctuation have no such attributes: they are alone with what is stateless, since
    their tuples are not the only ones they hear of.
    """
    marks = punctuated(graph)
    if operator.name in marks.by_key:
        return "key", None
    if isinstance(operator, ops.Punctor) or operator.name in marks.hearing:
        is_alone = partitioning_of(operator).scope == "none" and len(operator.inputs) == 1
        is_counter = isinstance(operator, ops.Punctor) and marks.counts(operator)
        if is_counter or not is_alone or marks.needs_order(operator):
            return "stream", None
    if is_paced(graph, operator) or fires_at_punctuations(operator):
        return "stream", None
    if has_time_windows(operator):
        return ("key" if is_keyed_event_time(graph, operator) else "stream"), None
    partitioning = partitioning_of(operator)
    if partitioning.scope != "key":
        return partitioning.scope, None
    found = [
        frozenset(origin(graph, stream, key) for key in keys)
        for stream, keys in zip(operator.inputs, partitioning.keys, strict=True)
    ]
    return "key", found[0] if len(set(found)) == 1 else None
