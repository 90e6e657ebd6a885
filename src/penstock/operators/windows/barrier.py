"""Barrier: the n-th tuples of all inputs as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.app.operators import Barrier
from penstock.block.block import Block, concat_blocks
from penstock.block.column import Column
from penstock.block.position import Frontier, Position, concat_position_list, later_rows
from penstock.expressions.evaluation.environment import Environment
from penstock.expressions.evaluation.evaluate import evaluate
from penstock.kernels.snapshot import SnapshotFields


class BarrierRuntime(SnapshotFields):
    """Holds what is ahead of the slowest input."""

    snapshot_fields = ("pending",)

    def __init__(self, operator: Barrier) -> None:
        self.operator = operator
        self.pending: list[Block] | None = None

    @property
    def state_bytes(self) -> int:
        return sum(block.to_arrow().nbytes for block in self.pending or ())

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        plain = [Block(b.schema, b.columns, b.rows, b.position) for b in inputs]
        held = (
            plain if self.pending is None else [concat_blocks(pair) for pair in zip(self.pending, plain, strict=True)]
        )
        ready = min(block.rows for block in held)
        self.pending = [block.slice(ready, block.rows) for block in held]
        complete = [block.slice(0, ready) for block in held]
        columns: dict[tuple[str | None, str], Column] = {}
        for port, block in zip(self.operator.ports, complete, strict=True):
            for field, column in zip(block.schema, block.columns, strict=True):
                columns[port, field.name] = column
                columns.setdefault((None, field.name), column)
        environment = Environment(ready, columns)
        emits = tuple(evaluate(emit.expression, environment) for emit in self.operator.emit)
        return (Block(self.operator.schema, emits, ready, _latest(complete).extend(np.zeros(ready, np.int64))),)


def _latest(blocks: Sequence[Block]) -> Position:
    """For each row the highest of the positions."""
    positions = [block.position for block in blocks if block.position is not None]
    latest = positions[0]
    for position in positions[1:]:
        both = concat_position_list([latest, position])
        rows = np.arange(len(latest))
        latest = both.take(np.where(later_rows(latest, position), rows, rows + len(latest)))
    return latest
