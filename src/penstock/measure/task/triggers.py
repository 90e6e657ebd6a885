"""What triggered results: so many of them by such offsets of a source."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from penstock.block.block import Block
from penstock.connectors.planned.row_numbers import WIDE_BITS

Integers = npt.NDArray[np.int64]
UNKNOWN = -1  # the place of an unknown source
_NONE = np.empty((0, 4), np.int64)
_PIECES_PER_BLOCK = 16
_PIECES_MAX = 2048  # of a task; more are put together with their neighbours


class Triggers:
    """Rows of (place of the source, first offset, offsets, results), results spread evenly over the offsets."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, int]] = []
        self.spent_ns = 0  # CPU for reading positions

    def add(self, block: Block, place: int, start: int, offsets: int) -> None:
        """A block of results; where its tuples have no positions, the given offsets triggered them."""
        if block.position is None:
            self._rows.append((place, start, offsets, block.rows))
            return
        start_ns = time.thread_time_ns()
        places, sequences = block.position.place, block.position.sequence
        if places[0] == places[-1] and (places == places[0]).all():
            self._rows += _pieces(int(places[0]), _ascending(sequences))
        else:
            for own in np.unique(places):
                self._rows += _pieces(int(own), _ascending(sequences[places == own]))
        self.spent_ns += time.thread_time_ns() - start_ns

    def rows(self) -> Sequence[Sequence[int]]:
        """All of them; where there are too many, neighbours are put together."""
        if len(self._rows) <= _PIECES_MAX:
            return self._rows
        rows: list[list[int]] = merged_pieces([np.array(self._rows, np.int64)], _PIECES_MAX).tolist()
        return rows


def merged_pieces(tables: Iterable[Integers], most: int) -> Integers:
    """All rows; where there are too many, neighbours of one place are put together."""
    rows = np.concatenate([_NONE, *tables])
    if len(rows) <= most:
        return rows
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    every = -(-len(rows) // most)
    is_head = np.arange(len(rows)) % every == 0
    is_head[1:] |= rows[1:, 0] != rows[:-1, 0]
    is_head[1:] |= rows[1:, 1] >> WIDE_BITS != rows[:-1, 1] >> WIDE_BITS  # another partition or file
    heads = np.flatnonzero(is_head)
    ends = np.maximum.reduceat(rows[:, 1] + rows[:, 2], heads)
    starts = rows[heads, 1]
    return np.stack([rows[heads, 0], starts, ends - starts, np.add.reduceat(rows[:, 3], heads)], axis=1)


def _ascending(sequences: Integers) -> Integers:
    """The same, sorted; mostly they are, and looking costs a tenth of sorting."""
    return sequences if (sequences[1:] >= sequences[:-1]).all() else np.sort(sequences)


def _pieces(place: int, sequences: Integers) -> list[tuple[int, int, int, int]]:
    """Ascending offsets in a few runs."""
    edges = np.unique(np.linspace(0, len(sequences), _PIECES_PER_BLOCK + 1).astype(np.int64))
    starts, lasts = sequences[edges[:-1]].tolist(), sequences[edges[1:] - 1].tolist()
    counts = np.diff(edges).tolist()
    return [(place, a, b - a + 1, n) for a, b, n in zip(starts, lasts, counts, strict=True)]
