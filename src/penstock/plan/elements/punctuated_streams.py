"""Which streams carry window punctuations, who hears them, and which windows run on them by key.

Every replica of a keyed aggregate receives all punctuations of its stream, so that each fires its own groups.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.app.operators import Barrier, Join, Punctor
from penstock.plan.elements.keys import partitioning_of
from penstock.plan.elements.order import is_paced, streams_with_positions
from penstock.plan.elements.watermarks import watermarks


@dataclass(frozen=True, slots=True)
class Punctuated:
    """What the punctuations of a graph ask of its operators.

    `heard` has, by stream, the punctors whose marks somebody behind it hears, by number; `hearing` the operators
    that fire by marks or pass them on to such.  Marks of the streams `in_order` must stand among the tuples of the
    whole stream; those of others may come beside them, with their positions.  The marks of `counted` streams are told
    apart by number.  `by_key` are the aggregates that run by key.
    """

    heard: dict[str, frozenset[int]]
    hearing: frozenset[str]
    in_order: frozenset[str]
    counted: frozenset[str]
    by_key: frozenset[str]

    def needs_order(self, operator: ops.Operator) -> bool:
        """Whether the marks that leave an operator must stand among all tuples of its stream."""
        return bool(self.in_order.intersection(operator.outputs))

    def counts(self, operator: ops.Operator) -> bool:
        """Whether the marks that leave an operator are numbered."""
        return bool(self.counted.intersection(operator.outputs))


def punctors_by_stream(graph: Graph) -> dict[str, frozenset[int]]:
    """The numbers of the punctors whose marks each stream carries; they end at joins, barriers and watermarks."""
    carried: dict[str, frozenset[int]] = {}
    waiting = watermarks(graph)
    for number, operator in enumerate(graph.operators):
        marks = frozenset[int]().union(*(carried[stream] for stream in operator.inputs))
        if isinstance(operator, Punctor):
            marks |= {number}
        if isinstance(operator, Join | Barrier) or operator.name in waiting:
            marks = frozenset()
        carried |= dict.fromkeys(operator.outputs, marks)
    return carried


def punctuated(graph: Graph) -> Punctuated:
    """Who hears the punctuations of a graph; where windows may not go by key, all that carry them do."""
    carried = punctors_by_stream(graph)
    if not graph.punctuates_by_key:
        informed = frozenset(o.name for o in graph.operators if any(carried[stream] for stream in o.inputs))
        return Punctuated(carried, informed, frozenset(carried), frozenset(carried), frozenset())
    by_key = _by_key(graph)
    hearing, to_hear, in_order, counted = set[str](), set[str](), set[str](), set[str]()
    for operator in reversed(graph.operators):
        leaving = {stream for stream in operator.outputs if stream in to_hear and carried[stream]}
        if not leaving and not fires_at_punctuations(operator):
            continue
        hearing.add(operator.name)
        to_hear.update(operator.inputs)
        if isinstance(operator, ops.Union) or counted & leaving:
            counted.update(operator.inputs)
        if operator.name not in by_key and (in_order & leaving or not _passes_any_share(graph, operator)):
            in_order.update(operator.inputs)
    heard = {stream: marks if stream in to_hear else frozenset[int]() for stream, marks in carried.items()}
    return Punctuated(heard, frozenset(hearing), frozenset(in_order), frozenset(counted), by_key)


def fires_at_punctuations(operator: ops.Operator) -> bool:
    return isinstance(operator, ops.Aggregate | ops.Sort) and operator.window.measure == "punctuation"


def stages(graph: Graph) -> dict[str, int]:
    """By stream, how many operators that fire at punctuations it comes through, at most."""
    found: dict[str, int] = {}
    for operator in graph.operators:
        before = max((found[stream] for stream in operator.inputs), default=0)
        found |= dict.fromkeys(operator.outputs, before + fires_at_punctuations(operator))
    return found


def _by_key(graph: Graph) -> frozenset[str]:
    """The aggregates whose punctuation windows can be divided by key.

    The results of one punctuation are numbered over all groups.  Replicas know their order, not their numbers, and
    these count where results of several such operators are merged.
    """
    merged = streams_with_positions(graph)
    firing = [operator for operator in graph.operators if fires_at_punctuations(operator)]
    numbered = [operator.name for operator in firing if operator.name in merged]
    return frozenset(
        operator.name
        for operator in firing
        if partitioning_of(operator).scope == "key" and (operator.name not in merged or numbered == [operator.name])
    )


def _passes_any_share(graph: Graph, operator: ops.Operator) -> bool:
    """Whether an operator can pass on any share of a stream, with the marks in it."""
    alone = len(operator.inputs) == 1 and not is_paced(graph, operator)
    return alone and partitioning_of(operator).scope == "none"
