"""Which operators keep state, and where each slot of an element by key needs operators of its own for it."""

from __future__ import annotations

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.plan.aggregate_plan import can_be_stored
from penstock.plan.fusion.pipeline_element import PipelineElement


def keeps_state(operator: ops.Operator) -> bool:
    """Whether an operator has state of its own, besides counters."""
    return isinstance(operator, ops.Aggregate | ops.Join | ops.Custom | ops.Sort | ops.Barrier)


def keeps_state_by_key(operator: ops.Operator) -> bool:
    """Whether an operator may have state by key."""
    return isinstance(operator, ops.Aggregate | ops.Join | ops.Custom)


def is_stored(graph: Graph, operator: ops.Operator) -> bool:
    """Whether an operator's state is rows by key."""
    return isinstance(operator, ops.Aggregate) and can_be_stored(operator, graph.producer(operator.inputs[0]).schema)


def needs_element_by_slot(graph: Graph, element: PipelineElement) -> bool:
    """Whether each slot needs operators of its own, since one by key keeps state that is not rows."""
    if element.scope != "key":
        return False
    keeping = [o for o in map(graph.operator, element.operators) if keeps_state_by_key(o)]
    return not all(is_stored(graph, operator) for operator in keeping)
