"""Partial aggregates of hot keys: what a block gives to each (key, pane), to be merged by the owner of the key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.app.operators import Aggregate
from penstock.block.block import Block
from penstock.block.column import FixedColumn
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import Integers
from penstock.kernels.keys.key_ids import KeyIndex
from penstock.kernels.windows.aggregates import sum_number
from penstock.kernels.windows.time.time_window import TimeWindow
from penstock.operators.event_time.position_columns import arrival_columns, arrival_types
from penstock.operators.windows.aggregate import AggregateRuntime
from penstock.operators.windows.window_attribute import event_times_us, with_value

_PANE = "#pane"


def can_be_split(operator: Aggregate, schema: pa.Schema) -> bool:
    """Whether its aggregates can be put together from parts with the same bits: no sums of floats, nothing of rows."""
    times = AggregateRuntime(operator, schema, DeadLetters()).times if operator.window.measure == "time" else None
    if times is None:
        return False
    calls, types = times.shape
    sums = [c for c in calls if c.function in ("sum", "avg") and c.argument is not None]
    return all(c.function != "stddev" for c in calls) and all(sum_number(c, types[c.argument]) != "f" for c in sums)  # type: ignore[index]


def on_time(block: Block, operator: Aggregate) -> tuple[Integers, Integers]:
    """The rows that have a time, and are not behind the clock of their own block; and all rows' panes.

    Of two such rows in one pane none is late without the other, where blocks come one after the other: the clock moves
    between them for no other reason than a row of a later pane, and then the second is behind.
    """
    window = operator.window
    assert window.on is not None
    good = with_value(block, window)
    rows = np.arange(block.rows) if good is None else np.flatnonzero(good)
    timed = Block(pa.schema([block.schema.field(window.on)]), (block.column(window.on).take(rows),), len(rows))
    panes: Integers = np.full(block.rows, np.iinfo(np.int64).min, np.int64)
    panes[rows] = event_times_us(timed, window) // int(window.every)
    return np.flatnonzero((panes == np.maximum.accumulate(panes)) & (panes != np.iinfo(np.int64).min)), panes


class Partials:
    """Makes them, and says how they travel: key columns, pane, and the fields of a window's entries."""

    def __init__(self, operator: Aggregate, schema: pa.Schema, *, depth: int, ordered: bool) -> None:
        firsts = arrival_types(depth) if ordered else ()
        self._aggregate = AggregateRuntime(operator, schema, DeadLetters(), firsts)
        self._depth, self._ordered = depth, ordered
        assert self._aggregate.times is not None
        self._shape = self._aggregate.times.shape
        self._fields = {name: pa.from_numpy_dtype(type_) for name, type_ in self._aggregate.times.fields.items()}
        self._keys = [schema.field(name) for name in operator.by]
        travelling = [pa.field(_PANE, pa.int64()), *(pa.field(f"#{name}", t) for name, t in self._fields.items())]
        self.schema = pa.schema([*self._keys, *travelling])

    def made(self, block: Block, panes: Integers) -> Block:
        """The partials of tuples that have these panes, in order of first appearance."""
        columns = [block.columns[place] for place in self._aggregate.key_columns]
        index = KeyIndex((*(field.type for field in self._keys), pa.int64()))
        ids = index.assign([*columns, FixedColumn(panes, pa.int64())], block.rows)
        _, firsts = np.unique(ids, return_index=True)
        window = TimeWindow(1, 1, *self._shape)
        arguments = self._aggregate._kernel_columns(self._aggregate.arguments.columns(block))
        tags = arrival_columns(block, self._depth) if self._ordered else []
        window.process(ids, index.count, np.zeros(block.rows, np.int64), [*arguments, *tags])
        entries = window.export()
        made = [FixedColumn(entries[f"entry.{name}"], type_) for name, type_ in self._fields.items()]
        position = None if block.position is None else block.position.take(firsts)
        parts = (*(column.take(firsts) for column in columns), FixedColumn(panes[firsts], pa.int64()), *made)
        return Block(self.schema, parts, len(firsts), position)

    def panes(self, partials: Block) -> Integers:
        """The pane of each partial."""
        column = partials.column(_PANE)
        assert isinstance(column, FixedColumn)
        return column.values

    def fields(self, partials: Block) -> dict[str, np.ndarray]:
        """What they add to the entries of a window, by field."""
        columns = {name: partials.column(f"#{name}") for name in self._fields}
        return {name: column.values for name, column in columns.items() if isinstance(column, FixedColumn)}
