"""Into how many slots an operator's state is cut, and by what."""

from __future__ import annotations

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.element.operators.stored_aggregate import can_be_stored
from penstock.element.state.slot_functions import HashSlots, SlotFunction
from penstock.plan.keys import partitioning_of
from penstock.plan.pipeline import Pipeline, PipelineElement
from penstock.spark.checkpoint import Fixed


def slot_function(fixed: Fixed, element: PipelineElement) -> SlotFunction:
    """Key -> slot of an element: what the user chose for one of its operators, else by hash."""
    chosen = (fixed.slot_functions[name] for name in element.operators if name in fixed.slot_functions)
    return next(chosen, HashSlots(fixed.slots))


def keeps_state(operator: ops.Operator) -> bool:
    """Whether an operator has state of its own, beside counters."""
    return isinstance(operator, ops.Aggregate | ops.Join | ops.Custom | ops.Sort | ops.Barrier)


def must_be_slotted(graph: Graph, element: PipelineElement) -> bool:
    """Whether each slot needs operators of its own, since one by key keeps state that is not rows."""
    if element.scope != "key":
        return False
    keeping = [
        o for o in map(graph.operator, element.operators) if isinstance(o, ops.Aggregate | ops.Join | ops.Custom)
    ]
    return not all(is_stored(graph, operator) for operator in keeping)


def is_stored(graph: Graph, operator: ops.Operator) -> bool:
    """Whether an operator's state is rows by key."""
    return isinstance(operator, ops.Aggregate) and can_be_stored(operator, graph.producer(operator.inputs[0]).schema)


def state_slots(fixed: Fixed, pipeline: Pipeline, operator: str) -> SlotFunction:
    """The slots of an operator's state; rows by key have the same ones however operators are fused."""
    element = pipeline.element_of(operator)
    by_rows = is_stored(fixed.graph, fixed.graph.operator(operator))
    by_key = by_rows and partitioning_of(fixed.graph.operator(operator)).scope == "key"
    return slot_function(fixed, element) if by_key or element.scope == "key" else HashSlots(1)
