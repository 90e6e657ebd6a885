"""Window punctuations: marks between the tuples of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.element.position import LAST, Integers, Position, concat_position_list

if TYPE_CHECKING:
    from penstock.element.block import Block


class Punctuations:
    """Marks of a block: mark i stands before row `offsets[i]`; `origins` tells which punctor made it.

    Copies of one punctuation, made where a stream has several readers, have the same position and origin; they become one
    again where the copies meet.
    """

    __slots__ = ("offsets", "origins", "position")

    def __init__(self, offsets: Integers, origins: Integers, position: Position | None) -> None:
        self.offsets, self.origins, self.position = offsets, origins, position

    def __len__(self) -> int:
        return len(self.offsets)

    def through(self, rows: Integers) -> Punctuations:
        """The marks among outputs that were made from these rows (ascending)."""
        return Punctuations(np.searchsorted(rows, self.offsets), self.origins, self.position)

    def moved(self, offsets: Integers) -> Punctuations:
        return Punctuations(offsets, self.origins, self.position)


def concat_punctuations(blocks: Sequence[Block]) -> Punctuations | None:
    """The marks of several blocks one after the other."""
    starts = np.cumsum([0, *(b.rows for b in blocks)])
    parts = [(start, b.punctuations) for start, b in zip(starts, blocks, strict=False) if b.punctuations is not None]
    if not parts:
        return None
    positions = [p.position for _, p in parts if p.position is not None]
    return Punctuations(
        np.concatenate([p.offsets + start for start, p in parts]),
        np.concatenate([p.origins for _, p in parts]),
        concat_position_list(positions, LAST) if len(positions) == len(parts) else None,
    )
