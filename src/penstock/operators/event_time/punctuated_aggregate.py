"""Keyed aggregates over punctuation windows with broadcast punctuations: each replica has its groups.

A punctuation fires the groups of each replica at its place among the replica's tuples.  Within a firing groups go by
their oldest tuple; its position takes the place of the output's number, so that the outputs of several replicas can be
put in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from penstock.app.operators import Aggregate
from penstock.block.block import Block
from penstock.block.column import Column, FixedColumn
from penstock.block.dead_letters import DeadLetters
from penstock.block.ordering import in_order
from penstock.block.position import ABSENT, LAST, Frontier, Integers, Position, merge_order
from penstock.block.punctuation import Punctuations
from penstock.operators.event_time.event_time_windows import make_punctuated_windows
from penstock.operators.event_time.keyed_event_time import KeyedSlots, SideInput, SlotState
from penstock.operators.event_time.position_columns import arrival_columns, arrival_types, ascending_bits
from penstock.operators.event_time.watermark_broadcast import Waiting
from penstock.operators.windows.aggregate import AggregateRuntime, Groups, Results
from penstock.state.slots.slot_functions import SlotFunction

_NONE = Punctuations(np.empty(0, np.int64), np.empty(0, np.int64), None)


class PunctuatedAggregate(AggregateRuntime):
    """`depth` is that of its input's positions; `ordered`: whether its outputs must know theirs.

    `passes_marks`: somebody behind it hears the punctuations.  They come beside the tuples, or among them where it is
    in an element with whoever makes them.
    """

    def __init__(
        self,
        operator: Aggregate,
        schema: pa.Schema,
        letters: DeadLetters,
        slots: SlotFunction,
        *,
        depth: int,
        ordered: bool,
        stage: int,
        passes_marks: bool,
    ) -> None:
        super().__init__(operator, schema, letters, stage=stage)
        assert self.keys is not None
        assert self.held is not None
        self._depth, self._ordered = depth, ordered
        self._passes_marks, self._is_sender = passes_marks, True
        self._tag_count = len(arrival_types(depth)) if ordered else 0
        self._waiting_marks, self._passed = Waiting(), 0  # marks still to come; how many of a micro-batch have passed
        self._slots = KeyedSlots(self.keys, slots)
        self._windows = make_punctuated_windows(self.held, operator.window, self._slots)
        self._clock = self._windows.clock

    def take_side_input(self, given: SideInput) -> None:
        self._waiting_marks.give([self._at_depth(block) for block in given.ticks.get(0, ())])
        self._passed, self._is_sender = 0, given.passes_marks

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        own = inputs[0]
        marks = self._marks(own, frontier)
        keys = self._groups(own)[0]
        self._slots.touch(keys)
        if len(marks):
            self._touch_held()
        triggers, oldest, results = self._fired(own, keys, marks)
        position = self._position(marks, triggers, oldest) if self._ordered and len(triggers) else None
        outputs = Block(self.operator.schema, self._columns(results, len(triggers)), len(triggers), position)
        return (self._with_marks(outputs, marks, triggers),)

    def _fired(self, own: Block, keys: Groups, marks: Punctuations) -> tuple[Integers, list[Column], Results]:
        """By output its mark, the position of its group's oldest tuple, and the results; none of what has failed."""
        assert self.keys is not None
        assert self.held is not None
        tags = arrival_columns(own, self._depth) if self._ordered else []
        columns: list[Column] = [*self._held_columns(self.arguments.columns(own)), *tags]
        groups, zeros = keys + np.int32(1), np.zeros(own.rows)  # group 0 is that of ticks, which there are none of
        firings, taken = self.held.process(columns, groups, self.keys.count + 1, zeros, marks.offsets)
        results = self._from_rows(firings.offsets, taken) | self._of_groups(firings.groups - 1)
        selected = np.delete(np.arange(len(firings.triggers)), sorted(self.failed))
        self.failed.clear()
        oldest = [column.take(firings.offsets[:-1][selected]) for column in taken[len(taken) - self._tag_count :]]
        return firings.triggers[selected], oldest, {call: column.take(selected) for call, column in results.items()}

    def changed(self, slots: Integers) -> Integers:
        touched, before = self._slots.touched(), self._clock
        self._clock = self._windows.clock
        return slots if self._clock != before else np.intersect1d(touched, slots)

    def export_slots(self, slots: Integers) -> dict[int, SlotState]:
        return self._windows.export_slots(slots)

    def restore_slots(self, states: Iterable[SlotState]) -> None:
        self._windows.restore_slots(list(states))
        self._clock = self._windows.clock

    def _marks(self, own: Block, frontier: Frontier) -> Punctuations:
        """The marks up to the frontier, at their places among the tuples."""
        marks = self._waiting_marks.take(frontier)
        if marks is None:
            return _NONE if own.punctuations is None else own.punctuations
        assert marks.position is not None
        offsets = np.zeros(marks.rows, np.int64)
        if own.rows:
            assert own.position is not None
            order = merge_order([marks.position, own.position.pad(self._depth + 1, ABSENT)])
            is_mark = order < marks.rows
            offsets = np.cumsum(~is_mark, dtype=np.int64)[is_mark]
        (identities,) = (column.values for column in marks.columns if isinstance(column, FixedColumn))
        return Punctuations(offsets, identities, marks.position)

    def _at_depth(self, marks: Block) -> Block:
        """Marks made further in front have fewer levels, and stand behind all that came of their tuple."""
        assert marks.position is not None
        return Block(marks.schema, marks.columns, marks.rows, marks.position.pad(self._depth + 1, LAST))

    def _touch_held(self) -> None:
        """A punctuation takes tuples out of the window, whosever they are."""
        assert self.held is not None
        rows = self.held.rows
        self._slots.touch(np.unique(rows.group[rows.live()]) - 1)

    def _position(self, marks: Punctuations, triggers: Integers, oldest: Sequence[Column]) -> Position:
        """Right before the mark, by its place among those of the batch, then by the position of the oldest tuple."""
        assert marks.position is not None
        at = marks.position.pad(self._depth + 1, LAST).take(triggers)
        at = at.before_punctuations(self._passed + triggers, self.stage)
        stamp, *rest = [column.values for column in oldest if isinstance(column, FixedColumn)]
        levels = np.vstack([at.levels, ascending_bits(stamp), *rest])
        return Position(at.stamp, at.place, at.sequence, levels)

    def _with_marks(self, outputs: Block, marks: Punctuations, triggers: Integers) -> Block:
        """Outputs in order, each mark right behind those that it fired."""
        self._passed += len(marks)
        if outputs.position is not None:
            outputs = in_order([outputs])  # state that was put together again has rows by slot
        if len(marks) and self._passes_marks and self._is_sender:
            outputs.punctuations = marks.moved(np.searchsorted(triggers, np.arange(len(marks)), side="right"))
        return outputs
