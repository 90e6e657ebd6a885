"""Punctor: marks put between tuples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.app.operators import Punctor
from penstock.block.block import Block
from penstock.block.emission import emitted
from penstock.block.position import LAST, Frontier, concat_position_list
from penstock.block.punctuation import Punctuations, identities
from penstock.expressions.evaluation.environment import environment_of
from penstock.expressions.evaluation.evaluate import evaluate
from penstock.operators.protocol import Stateless
from penstock.operators.stateless.routing import truth


class PunctorRuntime(Stateless):
    """Passes all tuples and adds a mark where its condition is true.

    `counts`: marks have numbers, as a union does that waits for copies of each.
    """

    def __init__(self, operator: Punctor, number: int, *, counts: bool = True) -> None:
        self.when, self.before, self.number = operator.when, operator.before, number
        self.snapshot_fields = ("marks",) if counts else ()
        self.marks = 0

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block = inputs[0]
        rows = (
            np.flatnonzero(truth(evaluate(self.when, environment_of(block)))) if block.rows else np.empty(0, np.int64)
        )
        output = emitted(block, block.schema, block.columns, None)
        if not len(rows):
            return (output,)
        position = None if output.position is None else output.position.take(rows).as_punctuations(before=self.before)
        own = identities(self.number, self.marks, len(rows))
        self.marks += len(rows)
        added = Punctuations(rows if self.before else rows + 1, own, position)
        output.punctuations = _combined(block.punctuations, added, old_first=self.before)
        return (output,)


def _combined(old: Punctuations | None, new: Punctuations, *, old_first: bool) -> Punctuations:
    """Both sets of marks by offset; at one offset those right after a tuple come first, those right before one last."""
    if old is None:
        return new
    parts = [old, new] if old_first else [new, old]
    offsets = np.concatenate([p.offsets for p in parts])
    order = np.argsort(offsets, kind="stable")
    positions = [p.position for p in parts if p.position is not None]
    position = concat_position_list(positions, LAST).take(order) if len(positions) == 2 else None
    return Punctuations(offsets[order], np.concatenate([p.identities for p in parts])[order], position)
