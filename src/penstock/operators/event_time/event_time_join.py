"""Joins over time windows by key, told the clock of the whole stream: each replica has its keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.app.operators import Join
from penstock.block.block import Block, empty_block
from penstock.block.column import Column, FixedColumn, concat, empty_column
from penstock.block.dead_letters import DeadLetters
from penstock.block.plain_columns import Pieces, column_from
from penstock.block.position import Frontier, Integers, Position, merge_order
from penstock.operators.event_time.keyed_event_time import KeyedSlots, SideInput, SlotState, runs_by_slot
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
        self._schemas = schemas
        self._ticks = (Waiting(), Waiting())
        self._slots = KeyedSlots(self.keys, slots)
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
        states: dict[int, dict[str, Any]] = {slot: {"clock": self.kernel.clock, "sides": []} for slot in slots.tolist()}
        for port in range(2):
            for slot, side in self._export_side(port, slots):
                states[slot]["sides"].append(side)
        return dict(states)

    def restore_slots(self, states: Iterable[SlotState]) -> None:
        states = list(states)
        clocks = [state["clock"] for state in states if state["clock"] is not None]
        sides = [self._restore_side(port, [state["sides"][port] for state in states]) for port in range(2)]
        assert self.keys is not None
        self.kernel.hold(max(clocks, default=None), self.keys.count, sides)
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

    def _export_side(self, port: int, slots: Integers) -> Iterator[tuple[int, dict[str, Any]]]:
        keys, rows, values = self.kernel.held(port)
        order, runs = runs_by_slot(self._slots.by_key()[keys], slots)
        columns, missing = self.stores[port].taken(rows[order])
        key_pieces, values = self._slots.key_pieces(keys[order]), values[order]
        pieces = {place: Pieces(column) for place, column in columns.items()}
        for slot, start, stop in runs:
            yield (
                slot,
                {
                    "keys": (stop - start, [piece.piece(start, stop) for piece in key_pieces]),
                    "values": values[start:stop].copy(),
                    "columns": {place: piece.piece(start, stop) for place, piece in pieces.items()},
                    "missing": None if missing is None else missing[start:stop].copy(),
                },
            )

    def _restore_side(self, port: int, sides: Sequence[Mapping[str, Any]]) -> tuple[Integers, Any]:
        """Fills a side's store; gives the keys and values of its rows."""
        full = [side for side in sides if side["keys"][0]]
        keys = [np.zeros(0, np.int64), *(self._slots.assign(plain, rows) for rows, plain in (s["keys"] for s in full))]
        counts = [side["keys"][0] for side in full]
        missing = None
        if any(side["missing"] is not None for side in full):
            masks = zip((side["missing"] for side in full), counts, strict=True)
            missing = np.concatenate([np.zeros(rows, np.bool_) if mask is None else mask for mask, rows in masks])
        columns = {place: self._column(port, place, full) for place in self.emits.columns_of(port)}
        self.stores[port].hold(columns, missing, sum(counts))
        return np.concatenate(keys), np.concatenate([np.zeros(0), *(side["values"] for side in full)])

    def _column(self, port: int, place: int, sides: Sequence[Mapping[str, Any]]) -> Column:
        type_ = self._schemas[port].field(place).type
        if not sides:
            return empty_column(type_)
        return concat([column_from(side["columns"][place], type_) for side in sides])
