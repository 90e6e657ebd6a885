"""How deep the positions of a stream are: how many output numbers follow the position in the source."""

from __future__ import annotations

from collections.abc import Container

from penstock.app.graph import Graph
from penstock.app.operators import Aggregate, Join, Operator
from penstock.plan.elements.punctuated_streams import fires_at_punctuations
from penstock.plan.elements.watermarks import watermarks

ROOT_LEVELS = 3  # stamp, place and sequence, as levels
ORDER_LEVELS = 4  # event time, place with partition, stamp and sequence: the order in which a watermark releases tuples


def depth_by_stream(graph: Graph, event_time: Container[str] = ()) -> dict[str, int]:
    """Levels of every stream's positions, the same for all its tuples, so that numbers stand in one column.

    An operator that reads streams of different depths fills the shallower positions up before it adds its numbers;
    otherwise what it emits for p, (p, 0) and (p, 1), would stand around what it emits for the later (p, 0): (p, 0, 0).
    `event_time` are aggregates by key that are told a clock, or punctuations: for the number of an output they have the
    window's end (the place of its punctuation among those told) and the position of the group's oldest tuple, as
    replicas know the order of outputs alone.
    """
    depths: dict[str, int] = {}
    fired_by_watermarks = watermarks(graph)
    for operator in graph.operators:
        before = max((depths[stream] for stream in operator.inputs), default=-1)
        if operator.name in fired_by_watermarks:
            depths |= dict.fromkeys(operator.outputs, _depth_of_results(operator, before))
            continue
        depth = before + 2 if fires_at_punctuations(operator) else before + 1
        if operator.name in event_time and isinstance(operator, Aggregate):
            depth += ROOT_LEVELS + before
        depths |= dict.fromkeys(operator.outputs, depth)
    return depths


def _depth_of_results(operator: Operator, depth: int) -> int:
    """Levels of what a watermark fires: the operator's rank, then what orders results of one tick.

    For an aggregate that is the window's end and its group's oldest tuple, for a join the tuple that meets others, its
    side and the number of the pair, for a sort the window's end and a number.
    """
    if isinstance(operator, Join):
        return 1 + ORDER_LEVELS + depth + 2
    return 1 + 1 + (ORDER_LEVELS + depth if isinstance(operator, Aggregate) else 1)
