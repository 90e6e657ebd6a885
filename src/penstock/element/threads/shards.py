"""Shards: an operator's state split by slot, so that several threads can work on it at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.app.graph import Graph
from penstock.app.operators import Aggregate, Operator
from penstock.block.block import Block, concat_blocks, empty_block
from penstock.block.dead_letters import DeadLetters
from penstock.block.emission import emitted
from penstock.block.position import Frontier, Integers, Position
from penstock.element.element import MakeOperator
from penstock.host.cores import own_cores
from penstock.kernels.dealing import deal
from penstock.kernels.snapshot import SnapshotFields
from penstock.operators.protocol import OperatorRuntime
from penstock.plan.aggregate_plan import has_own_windows, plan_aggregate
from penstock.plan.elements.parallelism import SLOTS
from penstock.state.slots.slot_functions import HashSlots

_MOST_SHARDS = 8


def can_be_sharded(operator: Operator) -> bool:
    """Whether an operator's state is apart for each key, and what it emits comes of one tuple of that key."""
    return isinstance(operator, Aggregate) and bool(operator.by) and has_own_windows(operator)


def sharded(make: MakeOperator, shards: int | None) -> MakeOperator:
    """Makes operators as `make` does, those that can be in shards; None: in one per core where that pays."""

    def made(operator: Operator, graph: Graph, letters: DeadLetters) -> OperatorRuntime:
        count = (_cores() if _pays(operator, graph) else 1) if shards is None else shards
        if count < 2 or not can_be_sharded(operator):
            return make(operator, graph, letters)
        assert isinstance(operator, Aggregate)
        return ShardedOperator(operator, [make(operator, graph, letters) for _ in range(count)])

    return made


def _pays(operator: Operator, graph: Graph) -> bool:
    """Whether windows are computed from their rows, which takes longer than dealing out and merging.

    Kernels of running aggregates take less (record 0022); functions of the user may not expect several threads.
    """
    if not isinstance(operator, Aggregate) or operator.functions:
        return False
    return bool(plan_aggregate(operator, graph.producer(operator.inputs[0]).schema).by_rows)


def _cores() -> int:
    return min(own_cores(), _MOST_SHARDS)


class ShardedOperator(SnapshotFields):
    """Deals a block's tuples out by slot, and puts what came of them back into the order of the block."""

    snapshot_fields = ("shards",)

    def __init__(self, operator: Aggregate, shards: Sequence[OperatorRuntime]) -> None:
        self.operator, self.shards = operator, tuple(shards)
        self._none = empty_block(operator.schema)
        self._slots = HashSlots(SLOTS)
        self._route = (np.arange(SLOTS) % len(shards)).astype(np.int32)

    @property
    def state_bytes(self) -> int:
        return sum(shard.state_bytes for shard in self.shards)

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        dealt = self.deal(inputs, frontier)
        done = [
            shard.process([block], frontier)[0] if block.rows else self._none
            for shard, block in zip(self.shards, dealt, strict=True)
        ]
        return self.merge([*inputs, *done], frontier)

    def deal(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        """A block per shard; instead of its position a tuple carries the number of its row."""
        block = inputs[0]
        slots = self._slots.slots_of([block.column(name) for name in self.operator.by], block.rows)
        rows, starts, _ = deal(slots, self._route, len(self.shards))
        taken = Block(block.schema, tuple(c.take(rows) for c in block.columns), block.rows, _numbered(rows))
        return tuple(taken.slice(int(starts[i]), int(starts[i + 1])) for i in range(len(self.shards)))

    def merge(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        """What the shards emitted (all inputs but the first), in the order of the first input's rows."""
        block, parts = inputs[0], [part for part in inputs[1:] if part.rows]
        if not parts:
            return (emitted(block, self.operator.schema, self._none.columns, np.empty(0, np.int64)),)
        whole = concat_blocks(parts)
        assert whole.position is not None
        origin = whole.position.sequence
        if len(parts) > 1:
            order = np.argsort(origin, kind="stable")  # all that came of one row is one shard's, and in order there
            whole, origin = whole.take(order), origin[order]
        return (emitted(block, self.operator.schema, whole.columns, origin),)


def _numbered(rows: Integers) -> Position:
    none = np.zeros(len(rows))
    return Position(none, none.astype(np.int64), rows, np.empty((0, len(rows)), np.int64))
