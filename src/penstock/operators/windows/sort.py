"""Sort: tuples put in order within a window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.app.operators import Sort
from penstock.block.block import Block, concat_blocks
from penstock.block.dead_letters import DeadLetters
from penstock.block.emission import emitted
from penstock.block.position import Frontier, Integers, output_numbers
from penstock.kernels.snapshot import SnapshotFields
from penstock.kernels.windows.release import release_lowest
from penstock.operators.windows.row_windows import HeldWindows
from penstock.operators.windows.window_attribute import window_values, without_missing


class SortRuntime(SnapshotFields):
    """A tumbling window emits all it holds, sorted; a sliding one its lowest tuple when it overflows."""

    def __init__(self, operator: Sort, letters: DeadLetters, stage: int = 0) -> None:
        self.operator, self.letters, self.stage = operator, letters, stage
        self.windows = HeldWindows(operator.window) if operator.window.kind == "tumbling" else None
        self.store: Block | None = None
        self.snapshot_fields = ("store",) if self.windows is None else ("windows",)

    @property
    def state_bytes(self) -> int:
        stored = 0 if self.store is None else self.store.to_arrow().nbytes
        return stored + (0 if self.windows is None else self.windows.state_bytes)

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block = without_missing(inputs[0], self.operator.window, self.operator.name, self.letters)
        return (self._sliding(block) if self.windows is None else self._tumbling(block, self.windows),)

    def _tumbling(self, block: Block, windows: HeldWindows) -> Block:
        marks = np.empty(0, np.int64) if block.punctuations is None else block.punctuations.offsets
        values = window_values(block, self.operator.window)
        firings, taken = windows.process(block.columns, np.zeros(block.rows, np.int32), 1, values, marks)
        self.letters.add_rows(self.operator.name, "came late: its window had fired already", block, firings.late)
        segment = np.repeat(np.arange(len(firings.triggers)), np.diff(firings.offsets))
        held = Block(block.schema, taken, len(segment))
        order = self._order(held, segment)
        columns = tuple(column.take(order) for column in taken)
        triggers = firings.triggers[segment]
        if self.operator.window.measure != "punctuation":
            return emitted(block, block.schema, columns, triggers)
        own = block.punctuations
        if own is None:
            return Block(block.schema, columns, 0)
        position = None
        if own.position is not None:
            position = own.position.take(triggers).before_punctuations(output_numbers(triggers), self.stage)
        ends = np.searchsorted(triggers, np.arange(len(own)), side="right")
        return Block(block.schema, columns, len(triggers), position, own.moved(ends))

    def _sliding(self, block: Block) -> Block:
        plain = Block(block.schema, block.columns, block.rows)
        rows = plain if self.store is None else concat_blocks([self.store, plain])
        held = rows.rows - block.rows
        order = self._order(rows, np.zeros(rows.rows, np.int64))
        rank = np.empty(rows.rows, np.int64)
        rank[order] = np.arange(rows.rows)
        released, triggers = release_lowest(rank, held, int(self.operator.window.size))
        keep = np.ones(rows.rows, np.bool_)
        keep[released] = False
        self.store = rows.take(np.flatnonzero(keep))
        return emitted(block, block.schema, tuple(c.take(released) for c in rows.columns), triggers)

    def _order(self, block: Block, segment: Integers) -> Integers:
        """The order by segment, then by the sort keys, then by arrival; NaN and nulls last."""
        names = [f"key{i}" for i in range(len(self.operator.by))]
        columns = [block.column(key.attribute).to_arrow() for key in self.operator.by]
        columns = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in columns]
        table = pa.table([pa.array(segment), *columns], names=["segment", *names])
        keys = [("segment", "ascending")]
        keys += [
            (n, "descending" if k.descending else "ascending") for n, k in zip(names, self.operator.by, strict=True)
        ]
        order: Integers = pc.sort_indices(table, sort_keys=keys).to_numpy().astype(np.int64)
        return order
