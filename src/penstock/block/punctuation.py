"""Window punctuations: marks between the tuples of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.block.position import LAST, Integers, Position, concat_position_list

if TYPE_CHECKING:
    from penstock.block.block import Block

_MOST_PUNCTORS = 1 << 16


class Punctuations:
    """Marks of a block: mark i stands before row `offsets[i]`; `identities` tells marks apart.

    Copies of one punctuation, made where a stream has several readers, have the same identity; they become one again
    where the copies meet.
    """

    __slots__ = ("identities", "offsets", "position")

    def __init__(self, offsets: Integers, identities: Integers, position: Position | None) -> None:
        self.offsets, self.identities, self.position = offsets, identities, position

    def __len__(self) -> int:
        return len(self.offsets)

    def through(self, rows: Integers) -> Punctuations:
        """The marks among outputs that were made from these rows (ascending)."""
        return Punctuations(np.searchsorted(rows, self.offsets), self.identities, self.position)

    def moved(self, offsets: Integers) -> Punctuations:
        return Punctuations(offsets, self.identities, self.position)

    def at(self, position: Position) -> Punctuations:
        return Punctuations(self.offsets, self.identities, position)

    def take(self, marks: Integers) -> Punctuations | None:
        """Some of the marks; None for none."""
        position = None if self.position is None else self.position.take(marks)
        return Punctuations(self.offsets[marks], self.identities[marks], position) if len(marks) else None


def identities(punctor: int, first: int, marks: int) -> Integers:
    """Identities of a punctor's marks, the first of which is its mark number `first`."""
    return np.arange(first, first + marks, dtype=np.int64) * _MOST_PUNCTORS + punctor


def punctor_of(identity: Integers) -> Integers:
    """The number of the operator that made each mark."""
    return identity % _MOST_PUNCTORS


def concat_punctuations(blocks: Sequence[Block]) -> Punctuations | None:
    """The marks of several blocks one after the other."""
    starts = np.cumsum([0, *(b.rows for b in blocks)])
    parts = [(start, b.punctuations) for start, b in zip(starts, blocks, strict=False) if b.punctuations is not None]
    if not parts:
        return None
    positions = [p.position for _, p in parts if p.position is not None]
    return Punctuations(
        np.concatenate([p.offsets + start for start, p in parts]),
        np.concatenate([p.identities for _, p in parts]),
        concat_position_list(positions, LAST) if len(positions) == len(parts) else None,
    )
