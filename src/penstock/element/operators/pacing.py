"""Delay and throttle: tuples keep their content and order, and move to later stamps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.app.operators import Delay, Throttle
from penstock.element.block import Block, concat_blocks
from penstock.element.kernels.pacing import paced_stamps
from penstock.element.punctuation import Punctuations
from penstock.element.position import Frontier


class _Holding:
    """Holds tuples back until the frontier has reached their new position."""

    def __init__(self) -> None:
        self._held: Block | None = None

    @property
    def state_bytes(self) -> int:
        return 0 if self._held is None else self._held.to_arrow().nbytes

    def _release(self, block: Block, frontier: Frontier) -> Block:
        """Everything held and new that is within the frontier."""
        if block.position is None:
            return block
        pending = block if self._held is None else concat_blocks([self._held, block])
        assert pending.position is not None
        ready = pending.position.within(frontier)
        marks = pending.punctuations
        first, rest = pending.slice(0, ready), pending.slice(ready, pending.rows)
        if marks is not None:
            first.punctuations, rest.punctuations = _cut(marks, ready)
        self._held = rest if rest.rows or rest.punctuations is not None else None
        return first


def _cut(marks: Punctuations, rows: int) -> tuple[Punctuations | None, Punctuations | None]:
    """Marks up to and including those right after the first `rows` rows, and the others."""
    split = int(np.searchsorted(marks.offsets, rows, side="right"))

    def part(start: int, stop: int, shift: int) -> Punctuations | None:
        position = None if marks.position is None else marks.position.slice(start, stop)
        return Punctuations(marks.offsets[start:stop] - shift, marks.origins[start:stop], position) if stop > start else None

    return part(0, split, 0), part(split, len(marks), rows)


class RunningDelay(_Holding):
    """Stamps moved by a fixed time."""

    def __init__(self, operator: Delay) -> None:
        super().__init__()
        self.delay_s = operator.delay_s

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block = inputs[0]
        if block.position is None:
            return (block,)
        moved = Block(block.schema, block.columns, block.rows, block.position.shift(block.position.stamp + self.delay_s))
        moved.punctuations = _shifted(block.punctuations, self.delay_s)
        return (self._release(moved, frontier),)


def _shifted(marks: Punctuations | None, delay_s: float) -> Punctuations | None:
    if marks is None or marks.position is None:
        return marks
    return Punctuations(marks.offsets, marks.origins, marks.position.shift(marks.position.stamp + delay_s))


class RunningThrottle(_Holding):
    """Stamps at least a period apart."""

    def __init__(self, operator: Throttle) -> None:
        super().__init__()
        self.period_s = 1.0 / operator.rate_tuples_s
        self._last_s = -np.inf

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block = inputs[0]
        if block.position is None or not block.rows:
            return (self._release(block, frontier),)
        stamps = paced_stamps(block.position.stamp, self._last_s, self.period_s)
        self._last_s = float(stamps[-1])
        paced = Block(block.schema, block.columns, block.rows, block.position.shift(stamps), block.punctuations)
        marks = block.punctuations
        if marks is not None and marks.position is not None:
            rows = np.maximum(marks.offsets - 1, 0)
            later = np.maximum(marks.position.stamp, stamps[rows])
            paced.punctuations = Punctuations(marks.offsets, marks.origins, marks.position.shift(later))
        return (self._release(paced, frontier),)
