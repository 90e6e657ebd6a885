"""Into how many slots an operator's state is cut, and by what."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.connectors.dataframe import DataFrameSource
from penstock.connectors.rate import RateSource
from penstock.errors import InputError, did_you_mean
from penstock.operators.windows.stored_aggregate import can_be_stored
from penstock.plan.configuration import Configuration, check_configuration
from penstock.plan.elements.keys import partitioning_of
from penstock.plan.elements.layout import Layout
from penstock.plan.elements.pipeline import Pipeline, PipelineElement, pipeline_of
from penstock.runtime.slots.hot_key_splitting import check_split
from penstock.state.checkpoint.checkpoint import Fixed
from penstock.state.slots.slot_functions import HashSlots, SlotFunction


def slot_function(fixed: Fixed, element: PipelineElement) -> SlotFunction:
    """Key -> slot of an element: what the user chose for one of its operators, else by hash."""
    chosen = (fixed.slot_functions[name] for name in element.operators if name in fixed.slot_functions)
    return next(chosen, HashSlots(fixed.slots))


def keeps_state(operator: ops.Operator) -> bool:
    """Whether an operator has state of its own, beside counters."""
    return isinstance(operator, ops.Aggregate | ops.Join | ops.Custom | ops.Sort | ops.Barrier)


def needs_element_by_slot(graph: Graph, element: PipelineElement) -> bool:
    """Whether each slot needs operators of its own, since one by key keeps state that is not rows."""
    if element.scope != "key":
        return False
    keeping = [
        o for o in map(graph.operator, element.operators) if isinstance(o, ops.Aggregate | ops.Join | ops.Custom)
    ]
    return not all(is_stored(graph, operator) for operator in keeping)


def stored_operators(graph: Graph, element: PipelineElement) -> tuple[str, ...]:
    """The operators of an element whose state is rows that the processes of a host share."""
    if needs_element_by_slot(graph, element):
        return ()
    return tuple(name for name in element.operators if is_stored(graph, graph.operator(name)))


def can_defer(graph: Graph, layout: Layout, element: PipelineElement) -> bool:
    """Whether tuples may be put off to a later batch: by key, and nobody behind it minds the order of other keys."""
    is_keyed_event_time = layout.pipeline.elements.index(element) in layout.event_time_elements
    if element.scope != "key" or is_keyed_event_time or not stored_operators(graph, element):
        return False
    sinks = [graph.operator(name) for name in element.operators if isinstance(graph.operator(name), ops.Sink)]
    leaving = {*layout.pipeline.outputs_of(element, graph), *(stream for sink in sinks for stream in sink.inputs)}
    return not leaving & layout.positioned


def can_hold(graph: Graph, layout: Layout, element: PipelineElement) -> bool:
    """Whether the splitter may hold its tuples: those of elements that the first one sends to, put off as above.

    Tuples go on by the numbers they came with, so those of later batches must be higher: DataFrames begin anew.
    """
    pipeline = layout.pipeline
    if pipeline.has_intake or any(isinstance(s.connector, DataFrameSource | RateSource) for s in graph.sources):
        return False
    senders = {pipeline.element_of(graph.producer(stream).name).name for stream in element.inputs}
    return senders == {pipeline.elements[0].name} and can_defer(graph, layout, element)


def is_stored(graph: Graph, operator: ops.Operator) -> bool:
    """Whether an operator's state is rows by key."""
    return isinstance(operator, ops.Aggregate) and can_be_stored(operator, graph.producer(operator.inputs[0]).schema)


def check_fits(fixed: Fixed, configuration: Configuration) -> None:
    """Raises InputError where a Configuration does not fit the application and its slots."""
    pipeline = pipeline_of(fixed.graph, configuration.unfused)
    check_configuration(configuration, pipeline)
    check_split(fixed.graph, configuration)
    for element in pipeline.elements:
        own, slots = configuration.element(element.name), slot_function(fixed, element).slots
        if own.route and (element.scope != "key" or len(own.route) != slots):
            needed = f"one for each of its {slots} slots" if element.scope == "key" else "none, as it has no slots"
            raise InputError(f"the route of element '{own.name}' has {len(own.route)} entries, and needs {needed}")


def check_same_slots(fixed: Fixed, before: Configuration, after: Configuration) -> None:
    """Raises InputError where another fusion would cut the state of an operator otherwise than it is."""
    pipelines = [pipeline_of(fixed.graph, configuration.unfused) for configuration in (before, after)]
    for operator in fixed.graph.operators:
        old, new = (state_slots(fixed, pipeline, operator.name) for pipeline in pipelines)
        if keeps_state(operator) and old != new:
            raise InputError(f"operator '{operator.name}' has its state in {_said(old)}, and would need {_said(new)} "
                             "when fused so; leave its element as it was")  # fmt: skip


def check_slot_functions(graph: Graph, functions: Mapping[str, SlotFunction]) -> None:
    """Raises InputError for slot functions of operators that are not there or keep nothing by key."""
    keyed = [o.name for o in graph.operators if keeps_state(o) and partitioning_of(o).scope == "key"]
    for name in functions:
        if name not in keyed:
            hint = did_you_mean(name, keyed)
            raise InputError(f"slot functions are of operators with state by key: {', '.join(keyed) or 'none here'}; "
                             f"got '{name}'" + (f"; {hint}" if hint else ""))  # fmt: skip


def _said(slots: SlotFunction) -> str:
    return f"{slots.slots} slot{'s' * (slots.slots != 1)} ({type(slots).__name__})"


def state_slots(fixed: Fixed, pipeline: Pipeline, operator: str) -> SlotFunction:
    """The slots of an operator's state; rows by key have the same ones however operators are fused."""
    element = pipeline.element_of(operator)
    by_rows = is_stored(fixed.graph, fixed.graph.operator(operator))
    by_key = by_rows and partitioning_of(fixed.graph.operator(operator)).scope == "key"
    return slot_function(fixed, element) if by_key or element.scope == "key" else HashSlots(1)
