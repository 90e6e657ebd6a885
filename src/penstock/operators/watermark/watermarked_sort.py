"""Sort over tumbling time windows that go by a watermark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.app.operators import Sort
from penstock.block.block import Block, empty_block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import AT_TICK, Frontier, Position, output_numbers
from penstock.operators.event_time.event_time_aggregate import of_tuples
from penstock.operators.watermark.event_time_buffer import EventTimeBuffer, Released
from penstock.operators.watermark.watermarked_aggregate import fed_of
from penstock.operators.windows.sort import SortRuntime
from penstock.plan.elements.watermarks import Watermark

_NO_MARKS = np.empty(0, np.int64)


class WatermarkedSort(SortRuntime):
    """A window is sorted when the watermark has passed its end; ties stand by event time."""

    def __init__(
        self,
        operator: Sort,
        schema: pa.Schema,
        letters: DeadLetters,
        watermark: Watermark,
        *,
        depth: int,
        ordered: bool,
    ) -> None:
        super().__init__(operator, letters)
        self._rank, self._ordered = watermark.rank, ordered
        self.buffer = EventTimeBuffer(operator.name, (operator.window,), (schema,), watermark, letters, depth)
        self.snapshot_fields = (*self.snapshot_fields, "buffer")

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + self.buffer.state_bytes

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block, ticks = inputs
        released = self.buffer.take((block,), ticks)
        return (empty_block(self.operator.schema) if released is None else self._fired(released),)

    def _fired(self, released: Released) -> Block:
        assert self.windows is not None
        pane = max(int(self.windows.rows.clock[0]), 0) // int(self.operator.window.every)
        block, fed = released.blocks[0], fed_of(released, self.operator.window, pane)
        groups = np.zeros(fed.rows, np.int32)
        groups[fed.tuples] = 1
        columns = [fed.spread_any(column) for column in block.columns]
        values = fed.event_us.astype(np.float64)
        firings, taken = of_tuples(*self.windows.process(columns, groups, 2, values, _NO_MARKS))
        segment = np.repeat(np.arange(len(firings.triggers)), np.diff(firings.offsets))
        order = self._order(Block(block.schema, taken, len(segment)), segment)
        position = None
        if self._ordered:
            tick, ends = released.moves.position.take(fed.move[firings.triggers[segment]]), firings.ends[segment]
            rank = np.full(len(segment), AT_TICK + self._rank, np.int64)
            levels = np.vstack([rank, ends, output_numbers(segment)])
            position = Position(tick.stamp, tick.place, tick.sequence, levels)
        return Block(block.schema, tuple(column.take(order) for column in taken), len(segment), position)
