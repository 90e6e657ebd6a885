"""Which elements may put tuples off, and which Configurations fit the slots of an application's state."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.errors import InputError, did_you_mean
from penstock.plan.configuration import Configuration, check_configuration
from penstock.plan.elements.keys import partitioning_of
from penstock.plan.elements.layout import Layout, layout_of
from penstock.plan.elements.pipeline import PipelineElement
from penstock.plan.elements.source_partitions import has_partitions
from penstock.plan.elements.stateful import is_stored, keeps_state
from penstock.runtime.slots.hot_key_splitting import check_split
from penstock.runtime.slots.state_forms import slot_function, state_form
from penstock.state.checkpoint.checkpoint import Fixed
from penstock.state.slots.slot_functions import SlotFunction


def stored_operators(graph: Graph, layout: Layout, element: PipelineElement) -> tuple[str, ...]:
    """The operators of an element whose state is rows that the processes of a host share."""
    names = (name for name in element.operators if name not in layout.objects_by_slot)
    return tuple(name for name in names if is_stored(graph, graph.operator(name)))


def can_defer(graph: Graph, layout: Layout, element: PipelineElement) -> bool:
    """Whether tuples may be put off to a later batch: by key, and nobody behind it minds the order of other keys."""
    by_slot = layout.event_time_operators | layout.objects_by_slot
    if element.scope != "key" or by_slot & set(element.operators) or not stored_operators(graph, layout, element):
        return False
    sinks = [graph.operator(name) for name in element.operators if isinstance(graph.operator(name), ops.Sink)]
    leaving = {*layout.pipeline.outputs_of(element, graph), *(stream for sink in sinks for stream in sink.inputs)}
    return not leaving & layout.positioned


def can_hold(graph: Graph, layout: Layout, element: PipelineElement) -> bool:
    """Whether the splitter may hold its tuples: those of elements that the first one sends to, put off as above.

    Tuples go on by the numbers they came with, so those of later batches must be higher: DataFrames begin anew.
    """
    pipeline = layout.pipeline
    if pipeline.has_intake or any(map(has_partitions, graph.sources)):
        return False
    senders = {pipeline.element_of(graph.producer(stream).name).name for stream in element.inputs}
    return senders == {pipeline.elements[0].name} and can_defer(graph, layout, element)


def check_fits(fixed: Fixed, configuration: Configuration) -> None:
    """Raises InputError where a Configuration does not fit the application and its slots."""
    layout = layout_of(fixed.graph, configuration.fused)
    pipeline = layout.pipeline
    check_configuration(configuration, pipeline)
    check_split(fixed.graph, configuration)
    for element in pipeline.elements:
        own, slots = configuration.element(element.name), slot_function(fixed, element).slots
        if own.route and (element.scope != "key" or len(own.route) != slots):
            needed = f"one for each of its {slots} slots" if element.scope == "key" else "none, as it has no slots"
            raise InputError(f"the route of element '{own.name}' has {len(own.route)} entries, and needs {needed}")
        _check_one_slot_function(fixed, layout, element)


def _check_one_slot_function(fixed: Fixed, layout: Layout, element: PipelineElement) -> None:
    """InputError where operators that are to go by key together have their keys in different slots."""
    forms = {name: state_form(fixed, layout, name) for name in element.operators if element.scope == "key"}
    for name, form in forms.items():
        if form.kind != "whole" and form.slots != slot_function(fixed, element):
            raise InputError(f"element '{element.name}' cannot have operator '{name}' together with others by key: "
                             "their slot functions differ, and tuples are dealt out once per element")  # fmt: skip


def check_same_slots(fixed: Fixed, before: Configuration, after: Configuration) -> None:
    """Raises InputError where another fusion would keep the state of an operator in another form."""
    layouts = [layout_of(fixed.graph, configuration.fused) for configuration in (before, after)]
    for operator in filter(keeps_state, fixed.graph.operators):
        old, new = (state_form(fixed, layout, operator.name) for layout in layouts)
        if old != new:
            raise InputError(f"operator '{operator.name}' has its state as {old}, and would need {new} when fused so; "
                             "leave its element as it was")  # fmt: skip


def check_slot_functions(graph: Graph, functions: Mapping[str, SlotFunction]) -> None:
    """Raises InputError for slot functions of operators that are not there or keep nothing by key."""
    keyed = [o.name for o in graph.operators if keeps_state(o) and partitioning_of(o).scope == "key"]
    for name in functions:
        if name not in keyed:
            hint = did_you_mean(name, keyed)
            raise InputError(f"slot functions are of operators with state by key: {', '.join(keyed) or 'none here'}; "
                             f"got '{name}'" + (f"; {hint}" if hint else ""))  # fmt: skip
