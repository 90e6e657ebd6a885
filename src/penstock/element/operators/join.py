"""Join: pairs of tuples of two windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.app.expressions.tree import Expression, attributes
from penstock.app.operators import Join
from penstock.app.windows import Window
from penstock.element.block import Block, concat_blocks
from penstock.element.column import Array, Column, column_of
from penstock.element.dead_letters import DeadLetters
from penstock.element.expressions.environment import Environment
from penstock.element.expressions.evaluate import evaluate
from penstock.element.kernels.keys import KeyIndex
from penstock.element.kernels.window_join import JoinWindow, Pairs, WindowJoin
from penstock.element.operators.merging import Merged, merge
from penstock.element.operators.routing import truth
from penstock.element.operators.window_attribute import window_values, without_missing
from penstock.element.position import Frontier, Integers, output_numbers

_COMPACT_ABOVE_ROWS = 8192
_PORTS = ("left", "right")


class RunningJoin:
    """Two stores of rows and the kernel that pairs them; predicate and emits are computed over all pairs at once."""

    def __init__(self, operator: Join, schemas: tuple[pa.Schema, pa.Schema], letters: DeadLetters) -> None:
        self.operator, self.schemas, self.letters = operator, schemas, letters
        self.windows = (operator.left_window, operator.right_window)
        self.kernel = WindowJoin(_join_window(self.windows[0]), _join_window(self.windows[1]))
        self.key_types = tuple(_key_type(schemas[0].field(a).type) for a, _ in operator.on)
        self.keys = KeyIndex(self.key_types) if operator.on else None
        self.stores: list[Block | None] = [None, None]

    @property
    def state_bytes(self) -> int:
        stored = sum(int(store.to_arrow().nbytes) for store in self.stores if store is not None)
        return stored + self.kernel.state_bytes + (self.keys.state_bytes if self.keys else 0)

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        blocks = [
            without_missing(block, window, self.operator.name, self.letters)
            for block, window in zip(inputs, self.windows, strict=True)
        ]
        if not any(block.rows for block in blocks):
            return (Block(self.operator.schema, tuple(_empty(f.type) for f in self.operator.schema), 0),)
        blocks = [Block(b.schema, b.columns, b.rows, b.position) for b in blocks]
        merged = merge(blocks)
        keys = np.concatenate([self._keys(port, block) for port, block in enumerate(blocks)])[merged.rows]
        values = np.concatenate([window_values(b, w) for b, w in zip(blocks, self.windows, strict=True)])[merged.rows]
        count = self.keys.count if self.keys else 1
        pairs = self.kernel.process(merged.ports.astype(np.uint8), keys, count, values)
        self.stores = [_appended(store, block) for store, block in zip(self.stores, blocks, strict=True)]
        output = self._output(merged, pairs)
        self._compact()
        return (output,)

    def _keys(self, port: int, block: Block) -> Array:
        if self.keys is None:
            return np.zeros(block.rows, np.int32)
        columns = [block.column(pair[port]) for pair in self.operator.on]
        return self.keys.assign(
            [c if c.type == t else column_of(c.to_arrow(), t) for c, t in zip(columns, self.key_types, strict=True)],
            block.rows,
        )

    def _output(self, merged: Merged, pairs: Pairs) -> Block:
        trigger, left, right = self._with_keys(pairs)
        if self.operator.where is not None:
            holds = truth(evaluate(self.operator.where, self._environment([self.operator.where], left, right)))
            trigger, left, right = trigger[holds], left[holds], right[holds]
        emits = [emit.expression for emit in self.operator.emit]
        environment = self._environment(emits, left, right)
        columns = tuple(evaluate(expression, environment) for expression in emits)
        position = merged.position.take(trigger).extend(output_numbers(merged.position.runs()[trigger]))
        return Block(self.operator.schema, columns, len(trigger), position)

    def _with_keys(self, pairs: Pairs) -> tuple[Integers, Integers, Integers]:
        """The pairs whose keys are not null: null equals nothing."""
        good = np.ones(len(pairs.left), np.bool_)
        store = self.stores[0]
        for name, _ in self.operator.on:
            valid = store.column(name).valid if store is not None else None
            if valid is not None:
                good &= valid[pairs.left]
        if good.all():
            return pairs.trigger, pairs.left, pairs.right
        return pairs.trigger[good], pairs.left[good], pairs.right[good]

    def _environment(self, expressions: Sequence[Expression], left: Integers, right: Integers) -> Environment:
        """The columns that expressions read, taken for all pairs."""
        columns: dict[tuple[str | None, str], Column] = {}
        for port, name in set().union(*(attributes(e) for e in expressions)):
            side = self._side(port, name)
            store = self.stores[side]
            assert store is not None
            columns[port, name] = store.column(name).take((left, right)[side])
        return Environment(len(left), columns)

    def _side(self, port: str | None, name: str) -> int:
        if port is not None:
            return _PORTS.index(port)
        return 0 if name in self.schemas[0].names else 1

    def _compact(self) -> None:
        for port, store in enumerate(self.stores):
            if store is not None and store.rows > _COMPACT_ABOVE_ROWS:
                live = self.kernel.live(port)
                if store.rows > 2 * len(live) + _COMPACT_ABOVE_ROWS:
                    self.stores[port] = store.take(live)
                    self.kernel.renumber(port, live)


def _join_window(window: Window) -> JoinWindow:
    if window.measure == "punctuation":
        raise ValueError("a join has no punctuation windows")
    return JoinWindow(window.measure, window.size, window.per_group)


def _key_type(type_: pa.DataType) -> pa.DataType:
    """The type under which both sides' keys are compared."""
    if pa.types.is_integer(type_):
        return pa.int64()
    return pa.string() if pa.types.is_dictionary(type_) else type_


def _appended(store: Block | None, block: Block) -> Block:
    plain = Block(block.schema, block.columns, block.rows)
    return plain if store is None else concat_blocks([store, plain])


def _empty(type_: pa.DataType) -> Column:
    return column_of(pa.array([], type_))
