"""In what form the state of each operator is kept: found by operator, whatever element it is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.plan.elements.keys import partitioning_of
from penstock.plan.elements.layout import Layout
from penstock.plan.elements.stateful import is_stored
from penstock.plan.fusion.pipeline_element import PipelineElement
from penstock.state.checkpoint.checkpoint import Fixed
from penstock.state.slots.slot_functions import HashSlots, SlotFunction

Kind = Literal["rows", "objects", "clock", "whole"]
_WORDS = {"rows": "rows in", "objects": "objects in", "clock": "windows in", "whole": "one object in"}


@dataclass(frozen=True, slots=True)
class StateForm:
    """Rows that processes share, an object for each slot, windows by slot, or one object in all.

    Windows by slot ("clock") have ticks or punctuations.
    """

    kind: Kind
    slots: SlotFunction

    def __str__(self) -> str:
        count = self.slots.slots
        return f"{_WORDS[self.kind]} {count} slot{'s' * (count != 1)} ({type(self.slots).__name__})"


def slot_function(fixed: Fixed, element: PipelineElement) -> SlotFunction:
    """Key -> slot of an element: what the user chose for one of its operators, else by hash."""
    names = element.slot_operators or element.operators
    chosen = (fixed.slot_functions[name] for name in names if name in fixed.slot_functions)
    return next(chosen, HashSlots(fixed.slots))


def state_form(fixed: Fixed, layout: Layout, operator: str) -> StateForm:
    """The form of an operator's state; elements that somebody asked for keep it as the default elements do."""
    element, own = layout.state_pipeline.element_of(operator), fixed.graph.operator(operator)
    if operator in layout.event_time_operators:
        return StateForm("clock", slot_function(fixed, element))
    if operator in layout.objects_by_slot:
        return StateForm("objects", slot_function(fixed, element))
    if is_stored(fixed.graph, own):
        by_key = partitioning_of(own).scope == "key"
        return StateForm("rows", slot_function(fixed, element) if by_key else HashSlots(1))
    return StateForm("whole", HashSlots(1))
