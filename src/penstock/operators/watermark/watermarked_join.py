"""Joins over time windows that go by a watermark: tuples of both inputs meet in the order of their event times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.app.operators import Join
from penstock.block.block import Block, empty_block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import AT_TICK, Frontier, Integers, Position, concat_position_list, output_numbers
from penstock.operators.event_time.position_columns import ascending_bits
from penstock.operators.watermark.event_time_buffer import EventTimeBuffer, Released, order_columns
from penstock.operators.windows.join import JoinRuntime
from penstock.plan.elements.watermarks import Watermark


class WatermarkedJoin(JoinRuntime):
    """`depth` is that of its inputs' positions, `positioned` says whether its outputs must know theirs.

    The clock of its windows is the event time of the tuple at hand, as tuples come to them in that order.
    """

    def __init__(
        self,
        operator: Join,
        schemas: tuple[pa.Schema, pa.Schema],
        letters: DeadLetters,
        watermark: Watermark,
        *,
        depth: int,
        positioned: bool,
    ) -> None:
        super().__init__(operator, schemas, letters, positioned=positioned)
        self._rank, self._depth = watermark.rank, depth
        self.buffer = EventTimeBuffer(operator.name, self.windows, schemas, watermark, letters, depth)
        self.snapshot_fields = (*self.snapshot_fields, "buffer")

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + self.buffer.state_bytes

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        left, right, ticks = inputs
        released = self.buffer.take((left, right), ticks)
        if released is None or not len(released.event_us):
            return (empty_block(self.operator.schema),)
        return (self._met(released),)

    def _met(self, released: Released) -> Block:
        """The pairs that the released tuples make, with each other and with those that the windows hold."""
        keys = self._by_port(released, [self._keys(port, block) for port, block in enumerate(released.blocks)])
        count = self.keys.count if self.keys else 1
        pairs = self.kernel.process(released.ports, keys, count, released.event_us.astype(np.float64))
        for store, block in zip(self.stores, released.blocks, strict=True):
            store.append(block)
        trigger, emits = self.emits.process(self.stores, *self._with_keys(pairs))
        for store in self.stores:
            store.compact()
        position = self._position(released, trigger) if self.positioned else None
        return Block(self.operator.schema, emits, len(trigger), position)

    def _position(self, released: Released, trigger: Integers) -> Position:
        """The tick's position, then what orders the tuple that met others, its side, and the number of the pair."""
        own = [block.position.pad(self._depth, 0) for block in released.blocks if block.position is not None]
        first = np.cumsum([0, *(len(position) for position in own)])
        rows = self._by_port(released, [np.arange(first[port], first[port + 1]) for port in range(len(own))])
        position = concat_position_list(own).take(rows[trigger])
        event, origin, stamp, *rest = order_columns(released.event_us[trigger], position)
        rank = np.full(len(trigger), AT_TICK + self._rank, np.int64)
        numbers = (released.ports[trigger].astype(np.int64), output_numbers(trigger))
        levels: Integers = np.vstack([rank, event, origin, ascending_bits(stamp), *rest, *numbers])
        tick = released.moves.position.take(released.move[trigger])
        return Position(tick.stamp, tick.place, tick.sequence, levels)

    def _by_port(self, released: Released, arrays: Sequence[Any]) -> Any:
        """What the tuples of each input have, in the order of all."""
        found = np.empty(len(released.ports), arrays[0].dtype)
        for port, array in enumerate(arrays):
            found[released.ports == port] = array
        return found
