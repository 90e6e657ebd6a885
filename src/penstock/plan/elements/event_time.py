"""Operators by key whose windows go by the clock or the punctuations of the whole stream, on several replicas.

Every replica receives the ticks (tuples that moved the clock) or the punctuations of the stream, whatever their keys.
"""

from __future__ import annotations

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.app.windows import Window
from penstock.plan.elements.keys import partitioning_of
from penstock.plan.elements.order import streams_with_positions
from penstock.plan.elements.punctuated_streams import punctuated
from penstock.plan.elements.watermarks import watermarks


def has_time_windows(operator: ops.Operator) -> bool:
    """Whether a clock acts on its windows."""
    return any(window.measure == "time" for window in _windows(operator))


def goes_by_broadcast(graph: Graph, operator: ops.Operator) -> bool:
    """Whether a keyed operator receives ticks or punctuations in addition to its tuples."""
    return is_keyed_event_time(graph, operator) or operator.name in punctuated(graph).by_key


def is_keyed_event_time(graph: Graph, operator: ops.Operator) -> bool:
    """Whether an operator with time windows can run by key, with a broadcast watermark.

    The results of one firing are numbered over all groups.  Replicas know their order, not their numbers, and these
    count where results meet other streams, unless a watermark fires them.  A stream joined with itself by two
    attributes would be dealt out twice.
    """
    partitioning = partitioning_of(operator)
    if not has_time_windows(operator) or partitioning.scope != "key":
        return False
    if isinstance(operator, ops.Aggregate):
        return operator.name not in streams_with_positions(graph) or operator.name in watermarks(graph)
    if len(set(operator.inputs)) == 1 and len(set(partitioning.keys)) > 1:
        return False
    return all(w.measure == "time" or (w.measure == "count" and w.per_group) for w in _windows(operator))


def time_window_by_port(operator: ops.Operator) -> dict[int, Window]:
    """The windows that move the clock, by input."""
    return {port: window for port, window in enumerate(_windows(operator)) if window.measure == "time"}


def _windows(operator: ops.Operator) -> tuple[Window, ...]:
    match operator:
        case ops.Aggregate():
            return (operator.window,)
        case ops.Join():
            return operator.left_window, operator.right_window
        case _:
            return ()
