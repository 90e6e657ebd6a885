"""Keyed joins over time windows with a broadcast watermark: each replica has its keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.app.operators import Join
from penstock.block.block import Block, empty_block
from penstock.block.column import FixedColumn
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import Frontier, Integers, Position, merge_order
from penstock.operators.event_time.join_sides import JoinSides
from penstock.operators.event_time.keyed_event_time import KeyedSlots, SideInput, SlotState
from penstock.operators.event_time.watermark_broadcast import Waiting
from penstock.operators.stateless.merging import Merged
from penstock.operators.windows.join import JoinRuntime
from penstock.operators.windows.window_attribute import window_values
from penstock.state.slots.slot_functions import SlotFunction

_TICK = -1


class EventTimeJoin(JoinRuntime):
    """A slot's state is the clock and, of each side, the rows that its window holds: keys, times, columns."""

    def __init__(
        self,
        operator: Join,
        schemas: tuple[pa.Schema, pa.Schema],
        letters: DeadLetters,
        slots: SlotFunction,
        *,
        positioned: bool,
    ) -> None:
        super().__init__(operator, schemas, letters, positioned=positioned)
        assert self.keys is not None
        self._ticks = (Waiting(), Waiting())
        self._slots = KeyedSlots(self.keys, slots)
        self._sides = JoinSides(self, schemas, self._slots)
        self._clock = self.kernel.clock

    def take_side_input(self, given: SideInput) -> None:
        for port, own in enumerate(self._ticks):
            own.give(given.ticks.get(port, ()), self._that_move_it)

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        ticks = [own.take(frontier) for own in self._ticks]
        blocks = self._usable(inputs)
        parts = list(self._parts(blocks, ticks))
        if not parts:
            return (empty_block(self.operator.schema),)
        assert self.keys is not None
        positions, ports, keys, values = zip(*parts, strict=True)
        rows = merge_order(positions) if len(parts) > 1 else np.arange(len(keys[0]))
        merged = Merged(rows, np.concatenate(ports)[rows], positions, None)
        pairs = self.kernel.process(
            merged.ports, np.concatenate(keys)[rows], self.keys.count, np.concatenate(values)[rows]
        )
        if not any(block.rows for block in blocks):
            return (empty_block(self.operator.schema),)
        return (self._joined(blocks, merged, pairs),)

    def changed(self, slots: Integers) -> Integers:
        touched, before = self._slots.touched(), self._clock
        self._clock = self.kernel.clock
        return slots if self._clock != before else np.intersect1d(touched, slots)

    def export_slots(self, slots: Integers) -> dict[int, SlotState]:
        sides = self._sides.export(slots)
        return {slot: {"clock": self.kernel.clock, "sides": sides[slot]} for slot in slots.tolist()}

    def restore_slots(self, states: Iterable[SlotState]) -> None:
        states = list(states)
        clocks = [state["clock"] for state in states if state["clock"] is not None]
        self._sides.restore(max(clocks, default=None), [state["sides"] for state in states])
        self._clock = self.kernel.clock

    def _that_move_it(self, ticks: Block) -> Block:
        """The ticks of one side that may move the clock as it was before the micro-batch."""
        assert isinstance(ticks.columns[0], FixedColumn)
        values, clock = ticks.columns[0].values, self.kernel.clock
        highest = np.maximum.accumulate(np.append(-np.inf if clock is None else clock, values))
        return ticks.take(np.flatnonzero(values > highest[:-1]))

    def _parts(
        self, blocks: Sequence[Block], ticks: Sequence[Block | None]
    ) -> Iterator[tuple[Position, Any, Any, Any]]:
        """Ticks and tuples as (positions, ports, keys, values), in the order in which they go at equal positions."""
        for port, (block, own) in enumerate(zip(blocks, ticks, strict=True)):
            if own is not None:
                assert own.position is not None
                assert isinstance(own.columns[0], FixedColumn)
                ports, keys = np.full(own.rows, port, np.uint8), np.full(own.rows, _TICK, np.int32)
                yield own.position, ports, keys, own.columns[0].values
            if block.rows:
                assert block.position is not None
                keys = self._keys(port, block)
                self._slots.touch(keys)
                ports = np.full(block.rows, port, np.uint8)
                yield block.position, ports, keys, window_values(block, self.windows[port])
