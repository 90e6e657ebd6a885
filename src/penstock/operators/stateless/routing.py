"""Operators that only route tuples: split, union, sink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from penstock.app.operators import Split
from penstock.block.block import Block, concat_blocks
from penstock.block.column import FixedColumn, Mask
from penstock.block.emission import emitted
from penstock.block.position import Frontier, output_numbers
from penstock.block.punctuation import Punctuations, punctor_of
from penstock.expressions.evaluation.environment import environment_of
from penstock.expressions.evaluation.evaluate import evaluate
from penstock.kernels.snapshot import SnapshotFields
from penstock.operators.protocol import Stateless
from penstock.operators.stateless.merging import merge


class SplitRuntime(Stateless):
    """Sends each tuple to the first branch whose condition is true."""

    def __init__(self, operator: Split) -> None:
        self.branches = operator.branches

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block = inputs[0]
        free = np.ones(block.rows, np.bool_)
        outputs = []
        for branch in self.branches:
            taken = free.copy()
            if branch.where is not None:
                taken &= truth(evaluate(branch.where, environment_of(block)))
            free &= ~taken
            rows = np.flatnonzero(taken)
            outputs.append(emitted(block, block.schema, tuple(c.take(rows) for c in block.columns), rows))
        return tuple(outputs)


def truth(column: object) -> Mask:
    """Which rows of a condition are true; null is not."""
    if not isinstance(column, FixedColumn) or not pa.types.is_boolean(column.type):
        raise TypeError("a condition must be boolean")
    return column.values if column.valid is None else column.values & column.valid


class UnionRuntime(Stateless):
    """All inputs in the order of positions; of a punctuation's copies the last one goes on."""

    def __init__(self, copies_by_punctor: Mapping[int, int]) -> None:
        self.copies = MarkCopies(copies_by_punctor)
        self.snapshot_fields = ("copies",) if copies_by_punctor else ()

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        if not self.snapshot_fields:  # nobody hears the marks
            inputs = [block.unmarked() for block in inputs]
        if sum(block.rows for block in inputs) == 0 and all(block.punctuations is None for block in inputs):
            return (inputs[0],)
        merged = merge(inputs)
        columns = concat_blocks([Block(b.schema, b.columns, b.rows) for b in inputs])
        taken = tuple(c.take(merged.rows) for c in columns.columns)
        position = merged.position().extend(output_numbers(merged.position().runs()))
        marks = None if merged.punctuations is None else self.copies.last(merged.punctuations)
        return (Block(inputs[0].schema, taken, len(merged.rows), position, marks),)


class SinkRuntime(Stateless):
    """Passes its input on to whoever collects it."""

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        return (inputs[0],)


class MarkCopies(SnapshotFields):
    """Counts the copies of each mark that have come, as some may be delayed on their way."""

    snapshot_fields = ("_waiting", "_arrived")

    def __init__(self, copies_by_punctor: Mapping[int, int]) -> None:
        self._needed = np.zeros(max(copies_by_punctor, default=0) + 1, np.int64)
        for punctor, copies in copies_by_punctor.items():
            self._needed[punctor] = copies
        self._waiting = np.empty(0, np.int64)  # identities of marks of which copies are still to come
        self._arrived = np.empty(0, np.int64)  # how many of each have come

    def last(self, marks: Punctuations) -> Punctuations | None:
        """The marks that are the last of their copies."""
        everyone = np.concatenate([self._waiting, marks.identities])
        weights = np.concatenate([self._arrived, np.ones(len(marks), np.int64)])
        known, backwards, places = np.unique(everyone[::-1], return_index=True, return_inverse=True)
        arrived = np.bincount(places, weights=weights[::-1]).astype(np.int64)
        complete = arrived == self._needed[punctor_of(known)]
        self._waiting, self._arrived = known[~complete], arrived[~complete]
        newest = len(everyone) - 1 - backwards[complete]
        return marks.take(np.sort(newest) - (len(everyone) - len(marks)))
