"""Operators by key that go by a watermark: their state is taken out and put in by slot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.app.operators import Aggregate, Join
from penstock.block.block import Block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import Integers
from penstock.operators.event_time.event_time_windows import make_event_time_windows
from penstock.operators.event_time.join_sides import JoinSides
from penstock.operators.event_time.keyed_event_time import KeyedSlots, SideInput, SlotState
from penstock.operators.watermark.event_time_buffer import EventTimeBuffer
from penstock.operators.watermark.slot_rows import SlotsOf, block_of_rows, rows_by_slot
from penstock.operators.watermark.watermarked_aggregate import WatermarkedAggregate, order_types
from penstock.operators.watermark.watermarked_join import WatermarkedJoin
from penstock.plan.elements.watermarks import Watermark
from penstock.state.slots.slot_functions import SlotFunction


class BufferSlots:
    """What waits in front of an operator by key, slot by slot, and the clock, which is the same in all."""

    def __init__(
        self, buffer: EventTimeBuffer, schemas: Sequence[pa.Schema], keys: Sequence[Sequence[str]], slots: SlotFunction
    ) -> None:
        self._buffer, self._schemas = buffer, schemas
        self._slots_of = [_slots_of(slots, own) for own in keys]

    def export(self, slots: Integers) -> dict[int, dict[str, Any]]:
        """The clock, and the rows of each input."""
        blocks = self._buffer.blocks()
        found = [rows_by_slot(own, of, slots) for own, of in zip(blocks, self._slots_of, strict=True)]
        clock = self._buffer.clock.export()
        return {slot: {"clock": clock, "rows": [own.get(slot) for own in found]} for slot in slots.tolist()}

    def restore(self, states: Sequence[SlotState]) -> None:
        if states:
            self._buffer.clock.restore_newest([state["clock"] for state in states])
        for port, schema in enumerate(self._schemas):
            rows = [state["rows"][port] for state in states]
            block = block_of_rows([own for own in rows if own is not None], schema)
            if block is not None:
                self._buffer.hold(port, block)


class KeyedWatermarkedAggregate(WatermarkedAggregate):
    """Each replica has its groups, and hears all ticks."""

    def __init__(
        self,
        operator: Aggregate,
        schema: pa.Schema,
        letters: DeadLetters,
        watermark: Watermark,
        slots: SlotFunction,
        *,
        depth: int,
        ordered: bool,
    ) -> None:
        super().__init__(operator, schema, letters, watermark, depth=depth, ordered=ordered)
        assert self.keys is not None
        types = order_types(depth) if ordered else ()
        own = KeyedSlots(self.keys, slots)
        self._windows = make_event_time_windows(self.times, self.held, operator.window, own, types)
        self._waiting = BufferSlots(self.buffer, (schema,), (operator.by,), slots)

    def take_side_input(self, given: SideInput) -> None:
        """Ticks come as a stream."""

    def changed(self, slots: Integers) -> Integers:
        return slots if self.buffer.has_changed() else slots[:0]

    def export_slots(self, slots: Integers) -> dict[int, SlotState]:
        waiting, windows = self._waiting.export(slots), self._windows.export_slots(slots)
        return {slot: {**own, "windows": windows[slot]} for slot, own in waiting.items()}

    def restore_slots(self, states: Iterable[SlotState]) -> None:
        states = list(states)
        self._waiting.restore(states)
        self._windows.restore_slots([state["windows"] for state in states])


class KeyedWatermarkedJoin(WatermarkedJoin):
    """Each replica has its keys, and hears all ticks."""

    def __init__(
        self,
        operator: Join,
        schemas: tuple[pa.Schema, pa.Schema],
        letters: DeadLetters,
        watermark: Watermark,
        slots: SlotFunction,
        *,
        depth: int,
        positioned: bool,
    ) -> None:
        super().__init__(operator, schemas, letters, watermark, depth=depth, positioned=positioned)
        assert self.keys is not None
        keys = [[pair[port] for pair in operator.on] for port in range(2)]
        self._sides = JoinSides(self, schemas, KeyedSlots(self.keys, slots))
        self._waiting = BufferSlots(self.buffer, schemas, keys, slots)

    def take_side_input(self, given: SideInput) -> None:
        """Ticks come as a stream."""

    def changed(self, slots: Integers) -> Integers:
        return slots if self.buffer.has_changed() else slots[:0]

    def export_slots(self, slots: Integers) -> dict[int, SlotState]:
        waiting, sides, clock = self._waiting.export(slots), self._sides.export(slots), self.kernel.clock
        return {slot: {**own, "sides": sides[slot], "met": clock} for slot, own in waiting.items()}

    def restore_slots(self, states: Iterable[SlotState]) -> None:
        states = list(states)
        self._waiting.restore(states)
        met = [state["met"] for state in states if state["met"] is not None]
        self._sides.restore(max(met, default=None), [state["sides"] for state in states])


def _slots_of(slots: SlotFunction, keys: Sequence[str]) -> SlotsOf:
    def slots_of(block: Block) -> np.ndarray[Any, Any]:
        return slots.slots_of([block.column(key) for key in keys], block.rows)

    return slots_of
