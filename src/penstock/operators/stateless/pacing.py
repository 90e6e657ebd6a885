"""Delay and throttle: tuples keep their content and order, and move to later stamps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.app.operators import Delay, Throttle
from penstock.block.block import Block, concat_blocks
from penstock.block.position import LAST, Frontier, Position, concat_position_list, later_rows
from penstock.block.punctuation import Punctuations
from penstock.kernels.pacing import paced_stamps
from penstock.kernels.snapshot import SnapshotFields


class _Holding(SnapshotFields):
    """Holds tuples back until the frontier has reached their new position."""

    snapshot_fields: tuple[str, ...] = ("_held",)

    def __init__(self) -> None:
        self._held: Block | None = None

    @property
    def state_bytes(self) -> int:
        return 0 if self._held is None else self._held.to_arrow().nbytes

    def _release(self, block: Block, frontier: Frontier) -> Block:
        """Everything held and new that is within the frontier."""
        pending = block if self._held is None else concat_blocks([self._held, block])
        assert pending.position is not None
        ready = pending.position.within(frontier)
        first, rest = pending.slice(0, ready), pending.slice(ready, pending.rows)
        marks = pending.punctuations
        if marks is not None and marks.position is not None:
            cut = marks.position.within(frontier)
            first.punctuations = marks.take(np.arange(cut))
            rest.punctuations = marks.moved(marks.offsets - ready).take(np.arange(cut, len(marks)))
        self._held = rest if rest.rows or rest.punctuations is not None else None
        return first


class DelayRuntime(_Holding):
    """Stamps moved by a fixed time."""

    def __init__(self, operator: Delay) -> None:
        super().__init__()
        self.delay_s = operator.delay_s

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block = inputs[0]
        assert block.position is not None
        position = self._later(block.position).extend(np.zeros(block.rows, np.int64))
        marks = block.punctuations
        if marks is not None and marks.position is not None:
            marks = marks.at(self._later(marks.position))
        return (self._release(Block(block.schema, block.columns, block.rows, position, marks), frontier),)

    def _later(self, position: Position) -> Position:
        return position.shift(position.stamp + self.delay_s)


class ThrottleRuntime(_Holding):
    """Stamps at least a period apart; a punctuation stays behind the tuple before it."""

    snapshot_fields = ("_held", "_last")

    def __init__(self, operator: Throttle) -> None:
        super().__init__()
        self.period_s = 1.0 / operator.rate_tuples_s
        self._last: Position | None = None

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block = inputs[0]
        assert block.position is not None
        last_s = -np.inf if self._last is None else float(self._last.stamp[0])
        stamps = paced_stamps(block.position.stamp, last_s, self.period_s)
        position = block.position.shift(stamps).extend(np.zeros(block.rows, np.int64))
        marks = None if block.punctuations is None else self._behind(block.punctuations, position)
        if block.rows:
            self._last = position.slice(block.rows - 1, block.rows)
        return (self._release(Block(block.schema, block.columns, block.rows, position, marks), frontier),)

    def _behind(self, marks: Punctuations, position: Position) -> Punctuations:
        """The marks, those that their tuples overtook moved to right after the tuple before them."""
        assert marks.position is not None
        first = 0 if self._last is None else 1
        tuples = position if self._last is None else concat_position_list([self._last, position])
        before = marks.offsets - 1 + first
        behind = np.flatnonzero(before >= 0)
        ends = tuples.take(before[behind]).as_punctuations(before=False)
        both = concat_position_list([marks.position, ends], LAST)
        rows = np.arange(len(marks))
        overtaken = later_rows(both.slice(len(marks), len(both)), both.take(rows[behind]))
        rows[behind[overtaken]] = len(marks) + np.flatnonzero(overtaken)
        return marks.at(both.take(rows))
