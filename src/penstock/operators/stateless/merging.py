"""Blocks of several streams put into one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.block.block import Block
from penstock.block.position import ABSENT, LAST, Integers, Position, concat_position_list, merge_order
from penstock.block.punctuation import Punctuations


@dataclass(frozen=True, slots=True)
class Merged:
    """The rows of several blocks in one order: `rows` are indices into their concatenation."""

    rows: Integers
    ports: npt.NDArray[np.uint8]
    positions: tuple[Position, ...]
    punctuations: Punctuations | None

    def position(self) -> Position:
        """The positions of the rows, in order."""
        return concat_position_list(self.positions).take(self.rows)


def merge(blocks: Sequence[Block]) -> Merged:
    """All rows, and all punctuations (copies too), in the order of positions."""
    positions = tuple(_position(block) for block in blocks)
    marks = None
    if all(block.punctuations is None for block in blocks):
        rows = merge_order(positions)
    else:
        rows, marks = _merge_with_marks(blocks, positions)
    if len(blocks) == 2:
        return Merged(rows, (rows >= blocks[0].rows).view(np.uint8), positions, marks)
    ports = np.repeat(np.arange(len(blocks), dtype=np.uint8), [block.rows for block in blocks])
    return Merged(rows, ports[rows], positions, marks)


def _position(block: Block) -> Position:
    if block.position is None:
        raise ValueError("a stream that is merged must have positions")
    return block.position


def _merge_with_marks(blocks: Sequence[Block], positions: Sequence[Position]) -> tuple[Integers, Punctuations | None]:
    """Merges rows and marks alike, as one run per block, and tells them apart again."""
    runs, numbers = [], []
    identities: list[Integers] = []
    row_start, mark_start, total_rows = 0, 0, sum(block.rows for block in blocks)
    for block, position in zip(blocks, positions, strict=True):
        items = np.arange(row_start, row_start + block.rows)
        marks = block.punctuations
        if marks is not None and marks.position is not None:
            depth = max(len(position.levels), len(marks.position.levels))
            both = concat_position_list([position.pad(depth, ABSENT), marks.position.pad(depth, LAST)])
            ids = np.concatenate([items, total_rows + mark_start + np.arange(len(marks))])
            # a mark stands before the row at its offset: half a step below it
            order = np.argsort(np.concatenate([np.arange(block.rows) + 0.5, marks.offsets]), kind="stable")
            items, position = ids[order], both.take(order)
            identities.append(marks.identities)
            mark_start += len(marks)
        runs.append(position)
        numbers.append(items)
        row_start += block.rows
    runs = _same_depth(runs, total_rows, numbers)
    order = merge_order(runs)
    items, position = np.concatenate(numbers)[order], concat_position_list(runs).take(order)
    return _tell_apart(items, position, np.concatenate(identities), total_rows)


def _same_depth(runs: list[Position], total_rows: int, numbers: list[Integers]) -> list[Position]:
    """Pads the rows of all runs with ABSENT and their marks with LAST, so that they compare as they should."""
    depth = max(len(run.levels) for run in runs)
    padded = []
    for run, items in zip(runs, numbers, strict=True):
        deeper = run.pad(depth, ABSENT)
        if len(deeper.levels) > len(run.levels):
            deeper.levels[len(run.levels) :, items >= total_rows] = LAST
        padded.append(deeper)
    return padded


def _tell_apart(
    items: Integers, position: Position, identities: Integers, total_rows: int
) -> tuple[Integers, Punctuations | None]:
    """Rows, and the marks between them."""
    is_mark = items >= total_rows
    if not is_mark.any():
        return items, None
    offsets: Integers = np.cumsum(~is_mark, dtype=np.int64)[is_mark]
    own = position.take(np.flatnonzero(is_mark))
    return items[~is_mark], Punctuations(offsets, identities[items[is_mark] - total_rows], own)
