"""Join: pairs of tuples of two windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.app.operators import Join
from penstock.app.windows import Window
from penstock.block.block import Block, empty_block
from penstock.block.column import Array
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import Frontier, Integers, output_numbers
from penstock.kernels.joins.window_join import JoinWindow, Pairs, WindowJoin
from penstock.kernels.keys.key_ids import KeyIndex
from penstock.kernels.snapshot import SnapshotFields
from penstock.operators.stateless.merging import Merged, merge
from penstock.operators.windows.join_emits import JoinEmits
from penstock.operators.windows.join_store import JoinStore
from penstock.operators.windows.window_attribute import window_values, without_missing


class JoinRuntime(SnapshotFields):
    """Two stores of rows, the kernel that pairs them, and the predicate and emits over pairs."""

    def __init__(
        self, operator: Join, schemas: tuple[pa.Schema, pa.Schema], letters: DeadLetters, *, positioned: bool
    ) -> None:
        self.operator, self.letters, self.positioned = operator, letters, positioned
        self.windows = (operator.left_window, operator.right_window)
        self.by_count = all(window.measure == "count" for window in self.windows)
        self.kernel = WindowJoin(_join_window(self.windows[0]), _join_window(self.windows[1]))
        self.keys = (
            KeyIndex(tuple(_key_type(schemas[0].field(a).type) for a, _ in operator.on)) if operator.on else None
        )
        self.key_columns = [
            [schema.get_field_index(pair[i]) for pair in operator.on] for i, schema in enumerate(schemas)
        ]
        self.emits = JoinEmits(operator.where, [emit.expression for emit in operator.emit], schemas)
        self.stores = tuple(
            JoinStore(self.kernel, port, schema, self.emits.columns_of(port), self.key_columns[port])
            for port, schema in enumerate(schemas)
        )
        self.snapshot_fields = ("kernel", "stores", *(("keys",) if self.keys is not None else ()))

    @property
    def key_count(self) -> int:
        """How many keys it has numbered."""
        return 0 if self.keys is None else self.keys.count

    @property
    def state_bytes(self) -> int:
        stored = sum(store.state_bytes for store in self.stores)
        return stored + self.kernel.state_bytes + (self.keys.state_bytes if self.keys else 0)

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        blocks = self._usable(inputs)
        if not any(block.rows for block in blocks):
            return (empty_block(self.operator.schema),)
        merged = merge(blocks)
        keys = np.concatenate([self._keys(port, block) for port, block in enumerate(blocks)]).take(merged.rows)
        count = self.keys.count if self.keys else 1
        pairs = self.kernel.process(merged.ports, keys, count, self._values(blocks, merged.rows))
        return (self._joined(blocks, merged, pairs),)

    def _usable(self, inputs: Sequence[Block]) -> list[Block]:
        blocks = []
        for given, window in zip(inputs, self.windows, strict=True):
            block = without_missing(given, window, self.operator.name, self.letters)
            blocks.append(Block(block.schema, block.columns, block.rows, block.position))
        return blocks

    def _joined(self, blocks: Sequence[Block], merged: Merged, pairs: Pairs) -> Block:
        for store, block in zip(self.stores, blocks, strict=True):
            store.append(block)
        output = self._output(merged, pairs)
        for store in self.stores:
            store.compact()
        return output

    def _keys(self, port: int, block: Block) -> Array:
        if self.keys is None:
            return np.zeros(block.rows, np.int32)
        return self.keys.assign([block.columns[i] for i in self.key_columns[port]], block.rows)

    def _values(self, blocks: Sequence[Block], rows: Integers) -> Array | None:
        """What time and delta windows run on, in merged order."""
        if self.by_count:
            return None
        return np.concatenate([window_values(b, w) for b, w in zip(blocks, self.windows, strict=True)])[rows]

    def _output(self, merged: Merged, pairs: Pairs) -> Block:
        trigger, emits = self.emits.process(self.stores, *self._with_keys(pairs))
        position = None
        if self.positioned:
            position = merged.position()
            position = position.take(trigger).extend(output_numbers(position.runs()[trigger]))
        return Block(self.operator.schema, emits, len(trigger), position)

    def _with_keys(self, pairs: Pairs) -> tuple[Integers, Integers, Integers]:
        """The pairs whose keys are not null: null equals nothing."""
        missing = self.stores[0].keyless()
        if missing is None or not (bad := missing[pairs.left]).any():
            return pairs.trigger, pairs.left, pairs.right
        return pairs.trigger[~bad], pairs.left[~bad], pairs.right[~bad]


def _join_window(window: Window) -> JoinWindow:
    if window.measure == "punctuation":
        raise ValueError("a join has no punctuation windows")
    return JoinWindow(window.measure, window.size, window.per_group)


def _key_type(type_: pa.DataType) -> pa.DataType:
    """The type under which both sides' keys are compared: an index takes integers of any width."""
    return pa.int64() if pa.types.is_integer(type_) else type_
