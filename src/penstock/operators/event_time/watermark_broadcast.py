"""Ticks: tuples that may have moved a stream's clock, or its punctuations, sent to every replica of a keyed operator.

The clock of a stream at a tuple is the highest time up to it, so of each block only those count whose time is above all
before them in the block: whoever has these of all blocks, in order, knows the clock everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from penstock.app import operators as ops
from penstock.app.windows import Window
from penstock.block.block import Block
from penstock.block.column import Array, FixedColumn
from penstock.block.ordering import in_order
from penstock.block.position import Frontier, Integers
from penstock.block.punctuation import Punctuations
from penstock.operators.windows.window_attribute import event_times_us, window_values, with_value
from penstock.plan.elements.event_time import time_window_by_port
from penstock.plan.elements.punctuated_streams import fires_at_punctuations

_VALUE = pa.schema([("value", pa.float64())])
MARKS = pa.schema([("identity", pa.int64())])


def marks_block(marks: Punctuations) -> Block:
    """Punctuations as tuples of their own, at their positions."""
    return Block(MARKS, (FixedColumn(marks.identities, pa.int64()),), len(marks), marks.position)


def ticks_of(operator: ops.Operator, stream: str, block: Block) -> Iterator[tuple[int, Block]]:
    """The ticks of a block of a stream, by input of the operator that reads it so.

    An aggregate's are whole tuples, the first of each of its panes; a join's clock is exact, and its ticks just times.
    Those of windows by punctuation are the punctuations.
    """
    if fires_at_punctuations(operator):
        if block.punctuations is not None:
            yield 0, marks_block(block.punctuations)
        return
    for port, window in time_window_by_port(operator).items():
        if operator.inputs[port] != stream or not block.rows:
            continue
        rows, values = _highest(block, window, in_panes=isinstance(operator, ops.Aggregate))
        if not len(rows):
            continue
        if isinstance(operator, ops.Aggregate):
            yield port, block.take(rows)
        else:
            position = None if block.position is None else block.position.take(rows)
            yield port, Block(_VALUE, (FixedColumn(values, pa.float64()),), len(rows), position)


def tick_schema(operator: ops.Operator, schema: pa.Schema) -> pa.Schema:
    """The schema in which the ticks of an operator travel."""
    if fires_at_punctuations(operator):
        return MARKS
    return schema if isinstance(operator, ops.Aggregate) else _VALUE


def _highest(block: Block, window: Window, *, in_panes: bool) -> tuple[Integers, Array]:
    """The rows whose time (or pane) is above that of all rows before, and those times."""
    assert window.on is not None
    good = with_value(block, window)
    rows = np.arange(block.rows) if good is None else np.flatnonzero(good)
    timed = Block(pa.schema([block.schema.field(window.on)]), (block.column(window.on).take(rows),), len(rows))
    values: Array = event_times_us(timed, window) // int(window.every) if in_panes else window_values(timed, window)
    if not len(values):
        return rows, values
    highest = np.maximum.accumulate(values)
    records = np.append(True, highest[1:] > highest[:-1])
    return rows[records], values[records]


class Waiting:
    """Ticks (or partials) of one input that an operator has not come to yet."""

    def __init__(self) -> None:
        self._waiting: Block | None = None

    def give(self, blocks: Sequence[Block], chosen: Callable[[Block], Block] = lambda block: block) -> Block | None:
        """All of a micro-batch, in any order; keeps what is chosen of them, in order, and gives it."""
        self._waiting = chosen(in_order(blocks)) if blocks else None
        return self._waiting

    def take(self, frontier: Frontier) -> Block | None:
        """Those up to a frontier, once."""
        waiting = self._waiting
        if waiting is None or waiting.position is None:
            return None
        cut = waiting.position.within(frontier)
        self._waiting = waiting.slice(cut, waiting.rows) if cut < waiting.rows else None
        return waiting.slice(0, cut) if cut else None
