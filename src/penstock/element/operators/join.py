"""Join: pairs of tuples of two windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.app.expressions.tree import Attribute, Call, Expression, attributes
from penstock.app.operators import Join
from penstock.app.windows import Window
from penstock.element.block import Block, empty_block
from penstock.element.column import Array, Column, FixedColumn
from penstock.element.dead_letters import DeadLetters
from penstock.element.expressions.functor import FunctorKernel
from penstock.element.kernels.keys import KeyIndex
from penstock.element.kernels.window_join import JoinWindow, Pairs, WindowJoin
from penstock.element.operators.join_store import JoinStore
from penstock.element.operators.merging import Merged, merge
from penstock.element.operators.window_attribute import window_values, without_missing
from penstock.element.position import Frontier, Integers, output_numbers

_PORTS = ("left", "right")


class RunningJoin:
    """Two stores of rows and the kernel that pairs them; predicate and emits are one functor over all pairs."""

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
        self.functor, reads = _functor(operator, schemas)
        self.stores = tuple(
            JoinStore(self.kernel, port, schema, reads[port], self.key_columns[port])
            for port, schema in enumerate(schemas)
        )

    @property
    def state_bytes(self) -> int:
        stored = sum(store.state_bytes for store in self.stores)
        return stored + self.kernel.state_bytes + (self.keys.state_bytes if self.keys else 0)

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        blocks = []
        for given, window in zip(inputs, self.windows, strict=True):
            block = without_missing(given, window, self.operator.name, self.letters)
            blocks.append(Block(block.schema, block.columns, block.rows, block.position))
        if not any(block.rows for block in blocks):
            return (empty_block(self.operator.schema),)
        merged = merge(blocks)
        keys = np.concatenate([self._keys(port, block) for port, block in enumerate(blocks)])[merged.rows]
        count = self.keys.count if self.keys else 1
        pairs = self.kernel.process(merged.ports, keys, count, self._values(blocks, merged.rows))
        for store, block in zip(self.stores, blocks, strict=True):
            store.append(block)
        output = self._output(merged, pairs)
        for store in self.stores:
            store.compact()
        return (output,)

    def _keys(self, port: int, block: Block) -> Array:
        if self.keys is None:
            return np.zeros(block.rows, np.int32)
        return self.keys.assign([_as_key(block.columns[i]) for i in self.key_columns[port]], block.rows)

    def _values(self, blocks: Sequence[Block], rows: Integers) -> Array | None:
        """What time and delta windows run on, in merged order."""
        if self.by_count:
            return None
        return np.concatenate([window_values(b, w) for b, w in zip(blocks, self.windows, strict=True)])[rows]

    def _output(self, merged: Merged, pairs: Pairs) -> Block:
        trigger, left, right = self._with_keys(pairs)
        columns = (*self.stores[0].take(left), *self.stores[1].take(right))
        kept, emits = self.functor.process(columns, len(trigger), 0)
        trigger = trigger if kept is None else trigger[kept]
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


def _functor(operator: Join, schemas: tuple[pa.Schema, pa.Schema]) -> tuple[FunctorKernel, tuple[list[int], list[int]]]:
    """Predicate and emits as one functor over a pair's attributes, and which columns of each side it reads."""
    emits = [emit.expression for emit in operator.emit]
    read = set().union(*(attributes(e) for e in (*emits, *([operator.where] if operator.where else ()))))
    sides = {(port, name): _side(port, name, schemas) for port, name in read}
    reads = tuple(sorted({schemas[i].get_field_index(n) for (_, n), s in sides.items() if s == i}) for i in (0, 1))
    fields = [
        schemas[i].field(c).with_name(f"{_PORTS[i]}.{schemas[i].field(c).name}") for i in (0, 1) for c in reads[i]
    ]
    renamed = [_renamed(e, sides) for e in emits]
    where = None if operator.where is None else _renamed(operator.where, sides)
    return FunctorKernel(where, tuple(renamed), pa.schema(fields)), (reads[0], reads[1])


def _side(port: str | None, name: str, schemas: tuple[pa.Schema, pa.Schema]) -> int:
    if port is not None:
        return _PORTS.index(port)
    return 0 if name in schemas[0].names else 1


def _renamed(expression: Expression, sides: dict[tuple[str | None, str], int]) -> Expression:
    """The expression over one tuple that has both sides' attributes, named `left.x` and `right.x`."""
    if isinstance(expression, Attribute):
        return Attribute(f"{_PORTS[sides[expression.port, expression.name]]}.{expression.name}")
    if isinstance(expression, Call):
        return Call(expression.function, tuple(_renamed(a, sides) for a in expression.arguments))
    return expression


def _join_window(window: Window) -> JoinWindow:
    if window.measure == "punctuation":
        raise ValueError("a join has no punctuation windows")
    return JoinWindow(window.measure, window.size, window.per_group)


def _key_type(type_: pa.DataType) -> pa.DataType:
    """The type under which both sides' keys are compared."""
    return pa.int64() if pa.types.is_integer(type_) else type_


def _as_key(column: Column) -> Column:
    if isinstance(column, FixedColumn) and pa.types.is_integer(column.type):
        return FixedColumn(column.values.astype(np.int64, copy=False), pa.int64(), column.valid)
    return column
