"""Keyed aggregates over time windows with a broadcast watermark: each replica has its groups.

A tick stands among the tuples at its place and counts for a group of its own (number 0), whose outputs are dropped; so
windows fire where they fire on one replica.  Within a firing groups go by their oldest tuple; its position takes the
place of the output's number, so that the outputs of several replicas can be put in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.app.operators import Aggregate
from penstock.block.block import Block, concat_blocks
from penstock.block.column import Column, FixedColumn, Mask
from penstock.block.dead_letters import DeadLetters
from penstock.block.ordering import in_order
from penstock.block.position import ABSENT, Frontier, Integers, Position, merge_order
from penstock.kernels.windows.held_rows import Firings
from penstock.kernels.windows.time.time_window import TimeFired
from penstock.operators.event_time.event_time_windows import make_event_time_windows
from penstock.operators.event_time.keyed_event_time import KeyedSlots, SideInput, SlotState
from penstock.operators.event_time.partial_aggregates import Partials
from penstock.operators.event_time.position_columns import arrival_columns, arrival_types, ascending_bits
from penstock.operators.event_time.shared_panes import NEVER, joined, late_rows, places
from penstock.operators.event_time.watermark_broadcast import Waiting
from penstock.operators.windows.aggregate import LATE, NO_MARKS, AggregateRuntime, Results
from penstock.operators.windows.window_attribute import event_times_us, window_values, without_missing
from penstock.state.slots.slot_functions import SlotFunction


@dataclass(frozen=True, slots=True)
class _Fired:
    """Outputs in order: the row that triggered each, its window's end, its group's oldest tuple, its results."""

    rows: Integers
    ends: Integers
    oldest: tuple[Column, ...]
    results: Results


class EventTimeAggregate(AggregateRuntime):
    """`depth` is that of its input's positions; `ordered`: whether its outputs must know theirs."""

    def __init__(
        self,
        operator: Aggregate,
        schema: pa.Schema,
        letters: DeadLetters,
        slots: SlotFunction,
        *,
        depth: int,
        ordered: bool,
    ) -> None:
        types = arrival_types(depth) if ordered else ()
        super().__init__(operator, schema, letters, types)
        assert self.keys is not None
        self._depth, self._ordered, self._tag_count = depth, ordered, len(types)
        self._ticks, self._waiting_partials = Waiting(), Waiting()
        self._partials = Partials(operator, schema, depth=depth, ordered=ordered) if self.times is not None else None
        self._slots = KeyedSlots(self.keys, slots)
        self._windows = make_event_time_windows(self.times, self.held, operator.window, self._slots, types)
        self._clock = self._windows.clock

    def take_side_input(self, given: SideInput) -> None:
        started, pane, *_ = self._windows.clock
        reached = pane if started else NEVER
        ticks = self._ticks.give(given.ticks.get(0, ()), lambda block: _of_new_panes(block, self.operator, reached))
        self._waiting_partials.give(given.partials)
        for share in given.shares:
            late = late_rows(share, ticks, reached, self.operator)
            self.letters.add_rows(self.operator.name, LATE, share, late)

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        own = without_missing(inputs[0], self.operator.window, self.operator.name, self.letters)
        block, is_tick = _with_ticks(own, self._ticks.take(frontier))
        keys = self._groups(own)[0]
        self._slots.touch(keys)
        groups = np.zeros(block.rows, np.int32)
        groups[slice(None) if own is block else ~is_tick] = keys + 1
        tags = arrival_columns(block, self._depth) if self._ordered else []
        if self.times is not None:
            fired = self._by_kernel(block, groups, is_tick, tags, self._waiting_partials.take(frontier))
        else:
            fired = self._held(block, groups, is_tick, tags)
        fired = self._without_failures(fired)
        columns = self._columns(fired.results, len(fired.rows))
        results = Block(self.operator.schema, columns, len(fired.rows), self._position(block, fired))
        return (in_order([results]),)  # partials came into their panes behind tuples that are younger

    def changed(self, slots: Integers) -> Integers:
        touched, before = self._slots.touched(), self._clock
        self._clock = self._windows.clock
        return slots if self._clock != before else np.intersect1d(touched, slots)

    def export_slots(self, slots: Integers) -> dict[int, SlotState]:
        return self._windows.export_slots(slots)

    def restore_slots(self, states: Iterable[SlotState]) -> None:
        self._windows.restore_slots(list(states))
        self._clock = self._windows.clock

    def _by_kernel(
        self,
        block: Block,
        groups: npt.NDArray[np.int32],
        is_tick: Mask,
        tags: list[FixedColumn],
        partials: Block | None,
    ) -> _Fired:
        event_us = event_times_us(block, self.operator.window)
        columns = [*self._kernel_columns(self.arguments.columns(block)), *tags]
        fired = self._run(block, groups, is_tick, event_us, columns, partials)
        self._report_late(block, fired.late, is_tick)
        selected = np.flatnonzero(fired.groups)
        taken = tuple(column.take(selected) for column in fired.columns)
        results: Results = {call[0]: c for call, c in zip(self.plan.by_kernel, taken, strict=False)}
        results |= self._of_groups(fired.groups[selected] - 1) | self._of_windows(fired.ends_us[selected], None)
        return _Fired(fired.rows[selected], fired.ends_us[selected], taken[len(taken) - self._tag_count :], results)

    def _run(
        self,
        block: Block,
        groups: npt.NDArray[np.int32],
        is_tick: Mask,
        event_us: Integers,
        columns: list[FixedColumn],
        partials: Block | None,
    ) -> TimeFired:
        """Runs the window over tuples and ticks, and takes partials in at their places."""
        assert self.times is not None
        assert self.keys is not None
        if partials is None or partials.position is None:
            return self.times.process(groups, self.keys.count + 1, event_us, columns)
        owners = self._owners(partials)
        runs, start = [], 0
        for stop, first, last in [*places(block, is_tick, partials.position), (block.rows, 0, 0)]:
            part = [column.slice(start, stop) for column in columns]
            fired = self.times.process(groups[start:stop], self.keys.count + 1, event_us[start:stop], part)
            runs.append((start, fired))
            self._absorb(partials.slice(first, last), owners[first:last])
            start = stop
        return joined(runs)

    def _owners(self, partials: Block) -> npt.NDArray[np.int32]:
        """The groups of partials."""
        assert self.keys is not None
        keys = self.keys.assign(list(partials.columns[: len(self.operator.by)]), partials.rows)
        self._slots.touch(keys)
        return keys + np.int32(1)

    def _absorb(self, partials: Block, groups: npt.NDArray[np.int32]) -> None:
        """Partials of the clock's pane go into the window; older ones are of tuples that are late."""
        assert self.times is not None
        assert self.keys is not None
        assert self._partials is not None
        selected = np.flatnonzero(self._partials.panes(partials) == self.times.clock[1])
        if len(selected):
            fields = self._partials.fields(partials)
            taken = {name: array[selected] for name, array in fields.items()}
            self.times.absorb(groups[selected], self.keys.count + 1, taken)

    def _held(self, block: Block, groups: npt.NDArray[np.int32], is_tick: Mask, tags: list[FixedColumn]) -> _Fired:
        assert self.held is not None
        assert self.keys is not None
        columns = [*self._held_columns(self.arguments.columns(block)), *tags]
        values = window_values(block, self.operator.window)
        firings, taken = of_tuples(*self.held.process(columns, groups, self.keys.count + 1, values, NO_MARKS))
        self._report_late(block, firings.late, is_tick)
        results = self._from_rows(firings.offsets, taken) | self._of_groups(firings.groups - 1)
        results |= self._of_windows(firings.ends, None)
        oldest = tuple(column.take(firings.offsets[:-1]) for column in taken[len(taken) - self._tag_count :])
        return _Fired(firings.triggers, firings.ends, oldest, results)

    def _report_late(self, block: Block, late: Integers, is_tick: Mask) -> None:
        if len(late):
            self.letters.add_rows(self.operator.name, LATE, block, late[~is_tick[late]])

    def _without_failures(self, fired: _Fired) -> _Fired:
        if not self.failed:
            return fired
        selected = np.delete(np.arange(len(fired.rows)), sorted(self.failed))
        self.failed.clear()
        oldest = tuple(column.take(selected) for column in fired.oldest)
        results = {call: column.take(selected) for call, column in fired.results.items()}
        return _Fired(fired.rows[selected], fired.ends[selected], oldest, results)

    def _position(self, block: Block, fired: _Fired) -> Position | None:
        """The trigger's position, then the window's end and the position of the group's oldest tuple."""
        if not self._ordered:
            return None
        assert block.position is not None
        trigger = block.position.pad(self._depth, ABSENT).take(fired.rows)
        stamp, *rest = [column.values for column in fired.oldest if isinstance(column, FixedColumn)]
        levels = np.vstack([trigger.levels, fired.ends, ascending_bits(stamp), *rest])
        return Position(trigger.stamp, trigger.place, trigger.sequence, levels)


def _with_ticks(own: Block, ticks: Block | None) -> tuple[Block, Mask]:
    """Tuples and ticks in order, ticks first where they are of the same tuple, and which are ticks."""
    if ticks is None or not own.rows:
        return (own, np.zeros(own.rows, np.bool_)) if ticks is None else (ticks, np.ones(ticks.rows, np.bool_))
    assert ticks.position is not None
    assert own.position is not None
    order = merge_order([ticks.position, own.position])
    return concat_blocks([ticks, own]).take(order), order < ticks.rows


def _of_new_panes(ticks: Block, operator: Aggregate, reached: int) -> Block:
    """The ticks that really move a clock which has reached a pane."""
    panes = event_times_us(ticks, operator.window) // int(operator.window.every)
    highest = np.maximum.accumulate(np.append(reached, panes))
    return ticks.take(np.flatnonzero(panes > highest[:-1]))


def of_tuples(firings: Firings, taken: tuple[Column, ...]) -> tuple[Firings, tuple[Column, ...]]:
    """The firings without those of the ticks' group, and the columns of their members."""
    selected, lengths = firings.groups > 0, np.diff(firings.offsets)
    if selected.all():
        return firings, taken
    members = np.flatnonzero(np.repeat(selected, lengths))
    offsets = np.append(0, np.cumsum(lengths[selected]))
    ends, groups, triggers = firings.ends[selected], firings.groups[selected], firings.triggers[selected]
    changed = Firings(
        triggers, groups, ends, firings.window_rows[selected], offsets, firings.members[members], firings.late
    )
    return changed, tuple(column.take(members) for column in taken)
