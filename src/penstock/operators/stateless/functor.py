"""Functor: filter, projection, new attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.app.operators import Functor
from penstock.block.block import Block
from penstock.block.column import Column, concat
from penstock.block.emission import emitted
from penstock.block.position import Frontier, Integers
from penstock.expressions.evaluation.compiled_functor import FunctorKernel
from penstock.expressions.tree import uses_sequence
from penstock.operators.protocol import Stateless


class FunctorRuntime(Stateless):
    """One kernel per emit; several emits of a tuple come one after the other."""

    def __init__(self, operator: Functor, schema: pa.Schema) -> None:
        self.schema = operator.schema
        self.kernels = [
            FunctorKernel(operator.where, tuple(emit.expression for emit in emits), schema) for emits in operator.emits
        ]
        self.sequence = 0
        self.snapshot_fields = ("sequence",) if _numbers_tuples(operator) else ()

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block = inputs[0]
        first = self.sequence
        self.sequence += block.rows
        if len(self.kernels) == 1:
            rows, columns = self.kernels[0].process(block.columns, block.rows, first)
        else:
            results = [kernel.process(block.columns, block.rows, first) for kernel in self.kernels]
            rows, columns = _interleaved([c for _, c in results], results[0][0], block.rows)
        return (emitted(block, self.schema, columns, rows),)


def _numbers_tuples(operator: Functor) -> bool:
    """Whether it calls seq_num()."""
    expressions = [emit.expression for emits in operator.emits for emit in emits]
    return any(uses_sequence(e) for e in (*expressions, *([operator.where] if operator.where else [])))


def _interleaved(
    emits: list[tuple[Column, ...]], rows: Integers | None, block_rows: int
) -> tuple[Integers, tuple[Column, ...]]:
    """The outputs of several emits, tuple by tuple."""
    rows = np.arange(block_rows, dtype=np.int64) if rows is None else rows
    passed, width = len(rows), len(emits)
    order = (np.arange(passed)[:, None] + np.arange(width)[None, :] * passed).ravel()
    columns = tuple(concat(list(parts)).take(order) for parts in zip(*emits, strict=True))
    return np.repeat(rows, width), columns
