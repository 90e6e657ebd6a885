"""Which streams must know their tuples' positions, and which operators change them."""

from __future__ import annotations

from penstock.app.graph import Graph
from penstock.app.operators import Delay, Operator, Throttle


def streams_with_positions(graph: Graph) -> frozenset[str]:
    """Names of all streams from which an operator with several inputs can be reached."""
    needed: set[str] = set()
    for operator in reversed(graph.operators):
        merges = len(operator.inputs) > 1
        if merges or any(stream in needed for stream in operator.outputs):
            needed.update(operator.inputs)
    return frozenset(needed)


def is_paced(graph: Graph, operator: Operator) -> bool:
    """Whether an operator holds tuples back until others have come: without a merge downstream, no one could tell."""
    return isinstance(operator, Delay | Throttle) and operator.inputs[0] in streams_with_positions(graph)


def sources_of(graph: Graph, stream: str) -> set[str]:
    """The sources that a stream comes from."""
    producer = graph.producer(stream)
    if not producer.inputs:
        return {producer.name}
    return set[str]().union(*(sources_of(graph, own) for own in producer.inputs))
