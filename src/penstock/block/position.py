"""Positions: where tuples stand in the total order of all streams.

A tuple of a source stands at (stamp, place of the source in the program, sequence); what an operator emits for it
stands at that position followed by the number of the output.  Positions compare like Python tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.block.column import taken
from penstock.block.position_merge import merge_pair, merge_stamps

if TYPE_CHECKING:
    from penstock.block.block import Block

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ABSENT = np.iinfo(np.int64).min  # fills the levels of a shorter position up, so that it comes before longer ones
LAST = np.iinfo(np.int64).max  # pads the levels of a punctuation, so that it comes after its tuple's extensions
_AT_PUNCTUATION = (
    1 << 62
)  # the level of what a punctuation fired: after all that came of its tuple, right before itself
AT_TICK = _AT_PUNCTUATION + (1 << 32)  # the level of what a watermark fired: after all that came of the tick's tuple


class Frontier(NamedTuple):
    """The root of the last position that was given to the operators: all tuples up to it are there, none beyond."""

    stamp: float
    place: int
    sequence: int


EVERYTHING = Frontier(np.inf, LAST, LAST)


class Position:
    """Positions of the rows of a block; `levels` has one row per output number, padded at the end."""

    __slots__ = ("levels", "place", "sequence", "stamp")

    def __init__(self, stamp: Floats, place: Integers, sequence: Integers, levels: Integers) -> None:
        self.stamp, self.place, self.sequence, self.levels = stamp, place, sequence, levels

    def __len__(self) -> int:
        return len(self.stamp)

    def take(self, rows: Integers) -> Position:
        stamp, place, sequence = (taken(own, rows) for own in (self.stamp, self.place, self.sequence))
        levels = self.levels[:, rows] if len(self.levels) else np.empty((0, len(stamp)), np.int64)
        return Position(stamp, place, sequence, levels)

    def slice(self, start: int, stop: int) -> Position:
        part = slice(start, stop)
        return Position(self.stamp[part], self.place[part], self.sequence[part], self.levels[:, part])

    def extend(self, numbers: Integers) -> Position:
        """The positions of outputs: each row's own, followed by its number."""
        return Position(self.stamp, self.place, self.sequence, np.vstack([self.levels, numbers]))

    def before_punctuations(self, numbers: Integers, stage: int = 0) -> Position:
        """The positions of what these punctuations fired: right before each, in the order of their numbers.

        `stage`: how many operators that fire at punctuations are in front of the one that fired; what these fired, and
        all that came of it, stands before its results.
        """
        levels = np.vstack([self.levels, np.full((1, len(self)), LAST, np.int64)])
        last, columns = np.argmax(levels == LAST, axis=0), np.arange(len(self))
        levels[levels == LAST] = ABSENT
        levels[last, columns] = _AT_PUNCTUATION + stage
        levels[last + 1, columns] = numbers
        return Position(self.stamp, self.place, self.sequence, levels)

    def runs(self) -> Integers:
        """For each row of ascending positions the number of its run of equal ones, from 0."""
        same = (self.sequence[1:] == self.sequence[:-1]) & (self.place[1:] == self.place[:-1])
        same &= self.stamp[1:] == self.stamp[:-1]
        if not same.any():
            return np.arange(len(self), dtype=np.int64)
        same &= (self.levels[:, 1:] == self.levels[:, :-1]).all(axis=0)
        runs: Integers = np.cumsum(np.append(0, ~same) if len(self) else same, dtype=np.int64)
        return runs

    def within(self, frontier: Frontier) -> int:
        """How many of these ascending positions are not beyond the frontier."""
        stamp, place, sequence = frontier
        ties = (self.place < place) | ((self.place == place) & (self.sequence <= sequence))
        return int(np.count_nonzero((self.stamp < stamp) | ((self.stamp == stamp) & ties)))

    def root(self, row: int) -> Frontier:
        """Where a row stands, without output numbers."""
        return Frontier(self.stamp.item(row), self.place.item(row), self.sequence.item(row))

    def roots(self) -> Position:
        """The same positions without output numbers."""
        return Position(self.stamp, self.place, self.sequence, np.empty((0, len(self)), np.int64))

    def up_to(self, root: Frontier, *, inclusive: bool) -> int:
        """How many of these ascending positions stand before a root, or at it too; looked for, not counted."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            own = self.root(middle)
            if own < root or (inclusive and own == root):
                low = middle + 1
            else:
                high = middle
        return low

    def shift(self, stamp: Floats) -> Position:
        """The same tuples at other stamps."""
        return Position(stamp, self.place, self.sequence, self.levels)

    def as_punctuations(self, *, before: bool) -> Position:
        """Positions just after these tuples of an operator and all that comes of them, or just before them."""
        levels = np.vstack([self.levels, np.full((1, len(self)), LAST, np.int64)])
        if before:
            levels[-2] -= 1
        return Position(self.stamp, self.place, self.sequence, levels)

    def pad(self, depth: int, filler: int) -> Position:
        """The same positions with at least `depth` levels."""
        missing = depth - len(self.levels)
        if missing <= 0:
            return self
        levels = np.vstack([self.levels, np.full((missing, len(self)), filler, np.int64)])
        return Position(self.stamp, self.place, self.sequence, levels)


def source_position(stamp: Floats, place: int, first_sequence: int) -> Position:
    """Positions of a source's next tuples."""
    rows = len(stamp)
    sequence = np.arange(first_sequence, first_sequence + rows, dtype=np.int64)
    return Position(stamp, np.full(rows, place, np.int64), sequence, np.empty((0, rows), np.int64))


def output_numbers(rows: Integers) -> Integers:
    """The number of each output among those of its row: 0, 0, 1, 2, 0 for rows 3, 5, 5, 5, 8."""
    starts = np.flatnonzero(np.diff(rows, prepend=-1) != 0) if len(rows) else rows
    lengths = np.diff(starts, append=len(rows))
    return np.arange(len(rows), dtype=np.int64) - np.repeat(starts, lengths)


def concat_position_list(positions: Sequence[Position], filler: int = ABSENT) -> Position:
    """Several positions one after the other; `filler` pads the shorter ones (LAST for punctuations)."""
    depth = max(len(p.levels) for p in positions)
    padded = [p.pad(depth, filler) for p in positions]
    return Position(
        np.concatenate([p.stamp for p in padded]),
        np.concatenate([p.place for p in padded]),
        np.concatenate([p.sequence for p in padded]),
        np.concatenate([p.levels for p in padded], axis=1),
    )


def concat_positions(blocks: Sequence[Block]) -> Position | None:
    """The positions of several blocks of a stream, or None where it has none."""
    positions = [block.position for block in blocks if block.position is not None]
    return concat_position_list(positions) if len(positions) == len(blocks) else None


def merge_order(positions: Sequence[Position], *, are_roots: bool = False) -> Integers:
    """The order of all rows, as indices into the concatenation; equal positions keep the order of `positions`.

    `are_roots`: positions without levels may be of several sources each.
    """
    if len(positions) == 2 and not are_roots and _are_sources(positions):
        one, other = positions
        order: Integers = merge_stamps(
            one.stamp, other.stamp, not len(one) or not len(other) or one.place[0] < other.place[0]
        )
        return order
    joined = concat_position_list(positions)
    merged = np.arange(len(positions[0]), dtype=np.int64)
    start = len(positions[0])
    for position in positions[1:]:
        own = np.arange(start, start + len(position), dtype=np.int64)
        merged = merge_pair(merged, own, joined.stamp, joined.place, joined.sequence, joined.levels)
        start += len(position)
    return merged


def _are_sources(positions: Sequence[Position]) -> bool:
    """Whether these are positions of two sources, whose stamps and places tell all tuples apart."""
    one, other = positions
    if len(one.levels) or len(other.levels):
        return False
    return not len(one) or not len(other) or one.place[0] != other.place[0]


def later_rows(one: Position, other: Position) -> npt.NDArray[np.bool_]:
    """Where a position of `one` comes after that of `other` in the same row."""
    both = concat_position_list([one, other])
    keys = np.vstack([both.stamp, both.place, both.sequence, both.levels])
    left, right = keys[:, : len(one)], keys[:, len(one) :]
    differs = left != right
    first = np.argmax(differs, axis=0)
    columns = np.arange(len(one))
    later: npt.NDArray[np.bool_] = left[first, columns] > right[first, columns]
    return later
