"""How deep the positions of a stream are: how many output numbers follow the position in the source."""

from __future__ import annotations

from collections.abc import Container

from penstock.app.graph import Graph
from penstock.app.operators import Aggregate, Operator, Sort

ROOT_LEVELS = 3  # stamp, place and sequence, as levels


def depth_by_stream(graph: Graph, event_time: Container[str] = ()) -> dict[str, int]:
    """Levels of every stream's positions, the same for all its tuples, so that numbers stand in one column.

    An operator that reads streams of different depths fills the shallower positions up before it adds its numbers;
    otherwise what it emits for p, (p, 0) and (p, 1), would stand around what it emits for the later (p, 0): (p, 0, 0).
    `event_time` are aggregates over time windows by key: for the number of an output they have the window's end and the
    position of the group's oldest tuple, as replicas know the order of outputs alone.
    """
    depths: dict[str, int] = {}
    for operator in graph.operators:
        depth = max((depths[stream] for stream in operator.inputs), default=-1) + 1
        if _fires_at_punctuations(operator):
            depth += 1
        if operator.name in event_time and isinstance(operator, Aggregate):
            depth += ROOT_LEVELS + depth - 1
        depths |= dict.fromkeys(operator.outputs, depth)
    return depths


def _fires_at_punctuations(operator: Operator) -> bool:
    return isinstance(operator, Aggregate | Sort) and operator.window.measure == "punctuation"
