"""Aggregates over time windows that go by a watermark.

A tick of the watermark stands behind the tuples that it released and counts for a group of its own (number 0), whose
outputs are dropped; so windows fire at the tick that brings their end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.app.operators import Aggregate
from penstock.app.windows import Window
from penstock.block.block import Block, empty_block
from penstock.block.column import Column, FixedColumn, column_of
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import AT_TICK, Frontier, Integers, Position
from penstock.kernels.watermark import FOREVER
from penstock.operators.event_time.event_time_aggregate import of_tuples
from penstock.operators.event_time.position_columns import ascending_bits
from penstock.operators.watermark.event_time_buffer import EventTimeBuffer, Released, order_columns
from penstock.operators.windows.aggregate import NO_MARKS, AggregateRuntime, Results
from penstock.plan.elements.position_depth import ORDER_LEVELS
from penstock.plan.elements.watermarks import Watermark

_STAMP = 2  # among the columns of the order


@dataclass(frozen=True, slots=True)
class Fed:
    """Tuples and ticks as they come to the windows: where the tuples are among them, and the move each row is of."""

    rows: int
    tuples: Integers
    move: Integers
    event_us: Integers

    def spread(self, column: FixedColumn) -> FixedColumn:
        """A column of the tuples with zeros for the ticks."""
        values = np.zeros(self.rows, column.values.dtype)
        values[self.tuples] = column.values
        if column.valid is None:
            return FixedColumn(values, column.type)
        valid = np.ones(self.rows, np.bool_)
        valid[self.tuples] = column.valid
        return FixedColumn(values, column.type, valid)

    def spread_any(self, column: Column) -> Column:
        """The same of any column; ticks have the value of some tuple, or null."""
        if not len(self.tuples):
            return column_of(pa.nulls(self.rows, column.type), column.type)
        chosen = np.zeros(self.rows, np.int64)
        chosen[self.tuples] = np.arange(len(self.tuples))
        return column.take(chosen)


class WatermarkedAggregate(AggregateRuntime):
    """`depth` is that of its input's positions; `ordered`: whether its outputs must know theirs."""

    def __init__(
        self,
        operator: Aggregate,
        schema: pa.Schema,
        letters: DeadLetters,
        watermark: Watermark,
        *,
        depth: int,
        ordered: bool,
    ) -> None:
        types = order_types(depth) if ordered else ()
        super().__init__(operator, schema, letters, types)
        self._rank, self._ordered, self._tag_count = watermark.rank, ordered, len(types)
        self.buffer = EventTimeBuffer(operator.name, (operator.window,), (schema,), watermark, letters, depth)
        self.snapshot_fields = (*self.snapshot_fields, "buffer")

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + self.buffer.state_bytes

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block, ticks = inputs
        released = self.buffer.take((block,), ticks)
        if released is None:
            return (empty_block(self.operator.schema),)
        return (self._fired(released),)

    def _fired(self, released: Released) -> Block:
        block, fed = released.blocks[0], fed_of(released, self.operator.window, self._pane)
        keys = self._groups(block)[0]
        groups = np.zeros(fed.rows, np.int32)
        groups[fed.tuples] = keys + 1
        position = block.position
        assert position is not None
        tags = [_tag(column) for column in order_columns(released.event_us, position)] if self._ordered else []
        run = self._by_kernel if self.times is not None else self._held
        rows, ends, oldest, results = run(block, fed, groups, [fed.spread(tag) for tag in tags])
        if self.failed:
            selected = np.delete(np.arange(len(rows)), sorted(self.failed))
            self.failed.clear()
            rows, ends, oldest = rows[selected], ends[selected], tuple(column.take(selected) for column in oldest)
            results = {call: column.take(selected) for call, column in results.items()}
        placed = self._position(released.moves.position.take(fed.move[rows]), ends, oldest) if self._ordered else None
        return Block(self.operator.schema, self._columns(results, len(rows)), len(rows), placed)

    def _by_kernel(
        self, block: Block, fed: Fed, groups: npt.NDArray[np.int32], tags: list[FixedColumn]
    ) -> tuple[Integers, Integers, tuple[Column, ...], Results]:
        assert self.times is not None
        arguments = self._kernel_columns(self.arguments.columns(block))
        columns = [*(fed.spread(column) for column in arguments), *tags]
        fired = self.times.process(groups, self._group_count + 1, fed.event_us, columns)
        selected = np.flatnonzero(fired.groups)
        taken = tuple(column.take(selected) for column in fired.columns)
        ends = fired.ends_us[selected]
        results: Results = {call[0]: c for call, c in zip(self.plan.by_kernel, taken, strict=False)}
        counts = taken[len(taken) - self._tag_count - 1]
        assert isinstance(counts, FixedColumn)
        results |= self._of_groups(fired.groups[selected] - 1) | self._of_windows(
            ends, _in_all_groups(ends, counts.values)
        )
        return fired.rows[selected], ends, taken[len(taken) - self._tag_count :], results

    def _held(
        self, block: Block, fed: Fed, groups: npt.NDArray[np.int32], tags: list[FixedColumn]
    ) -> tuple[Integers, Integers, tuple[Column, ...], Results]:
        assert self.held is not None
        columns = [*map(fed.spread_any, self._held_columns(self.arguments.columns(block))), *tags]
        values = fed.event_us.astype(np.float64)
        firings, taken = of_tuples(*self.held.process(columns, groups, self._group_count + 1, values, NO_MARKS))
        results = self._from_rows(firings.offsets, taken) | self._of_groups(firings.groups - 1)
        results |= self._of_windows(firings.ends, _in_all_groups(firings.ends, np.diff(firings.offsets)))
        oldest = tuple(column.take(firings.offsets[:-1]) for column in taken[len(taken) - self._tag_count :])
        return firings.triggers, firings.ends, oldest, results

    @property
    def _group_count(self) -> int:
        return 1 if self.keys is None else self.keys.count

    @property
    def _pane(self) -> int:
        """The pane that the windows have come to, lower than any where they have not begun."""
        if self.times is not None:
            started, pane, *_ = self.times.clock
            return pane if started else 0
        assert self.held is not None
        return max(int(self.held.rows.clock[0]), 0) // int(self.operator.window.every)

    def _position(self, tick: Position, ends: Integers, oldest: Sequence[Column]) -> Position:
        """The tick's position, then the window's end and what orders the groups' oldest tuples."""
        order = [column.values for column in oldest if isinstance(column, FixedColumn)]
        order[_STAMP] = ascending_bits(order[_STAMP])
        rank = np.full(len(ends), AT_TICK + self._rank, np.int64)
        return Position(tick.stamp, tick.place, tick.sequence, np.vstack([rank, ends, *order]))


def order_types(depth: int) -> tuple[np.dtype[Any], ...]:
    """The types of the columns that order the tuples of positions of so many levels."""
    integer = np.dtype(np.int64)
    return tuple(np.dtype(np.float64) if place == _STAMP else integer for place in range(ORDER_LEVELS + depth))


def fed_of(released: Released, window: Window, pane: int) -> Fed:
    """The released tuples with a tick of each move behind them, at the beginning of the pane that it comes to.

    `pane` is the one that the windows have come to.
    """
    panes, every_us = released.moves.panes, int(window.every)
    count, moves = len(released.event_us), len(panes)
    tuples = np.arange(count) + released.move
    ticks = np.searchsorted(released.move, np.arange(moves), side="right") + np.arange(moves)
    move, event_us = np.zeros(count + moves, np.int64), np.zeros(count + moves, np.int64)
    move[tuples], move[ticks] = released.move, np.arange(moves)
    if panes[-1] == FOREVER:  # far enough to fire all that the windows hold
        highest = max([pane, *(panes[:-1]), *(released.event_us[-1:] // every_us)])
        panes = np.append(panes[:-1], highest + int(window.size) // every_us + 1)
    event_us[tuples], event_us[ticks] = released.event_us, panes * every_us
    return Fed(count + moves, tuples, move, event_us)


def _in_all_groups(ends: Integers, counts: Integers) -> Integers:
    """How many tuples the window of each output has over all groups; ends ascend."""
    if not len(ends):
        return np.zeros(0, np.int64)
    starts = np.append(0, 1 + np.flatnonzero(ends[1:] != ends[:-1]))
    total: Integers = np.repeat(np.add.reduceat(counts, starts), np.diff(np.append(starts, len(ends))))
    return total


def _tag(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> FixedColumn:
    return FixedColumn(values, pa.from_numpy_dtype(values.dtype))
