"""Blocks of one stream that came from several replicas, put into the total order, and joint steps over streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from penstock.block.block import Block, concat_blocks
from penstock.block.position import ABSENT, LAST, Frontier, Integers, Position, concat_position_list, merge_order
from penstock.block.punctuation import Punctuations

_FEW = 16  # so many times as many tuples: to look for the few is quicker than to merge all


def in_order(blocks: Sequence[Block]) -> Block:
    """One block of several: by position where they have positions, else one after the other."""
    joined = concat_blocks(blocks)
    if joined.position is None:
        return joined
    marks = joined.punctuations
    if marks is not None and marks.position is not None and len(blocks) > 1:
        return _with_marks_in_order(joined, joined.position, marks, marks.position)
    if marks is not None or is_ascending(joined.position):
        return joined
    return joined.take(order_of(joined.position))


def _with_marks_in_order(block: Block, position: Position, marks: Punctuations, at: Position) -> Block:
    """Tuples and punctuations of a block by position: those of several replicas, of which one has all punctuations."""
    depth = max(len(position.levels), len(at.levels))
    order = order_of(concat_position_list([position.pad(depth, ABSENT), at.pad(depth, LAST)]))
    is_mark = order >= block.rows
    ordered, which = block.take(order[~is_mark]), order[is_mark] - block.rows
    ordered.punctuations = Punctuations(
        np.cumsum(~is_mark, dtype=np.int64)[is_mark], marks.identities[which], at.take(which)
    )
    return ordered


def order_of(position: Position) -> Integers:
    """The order of rows by position; equal ones stay as they are."""
    keys = (*position.levels[::-1], position.sequence, position.place, position.stamp)
    order: Integers = np.lexsort(keys)
    return order


def is_ascending(position: Position) -> bool:
    """Whether no row stands before the one in front of it."""
    keys = (position.stamp, position.place, position.sequence, *position.levels)
    undecided = np.ones(max(len(position) - 1, 0), np.bool_)
    for key in keys:
        if (undecided & (key[1:] < key[:-1])).any():
            return False
        undecided &= key[1:] == key[:-1]
        if not undecided.any():
            return True
    return True


def joint_steps(blocks: Mapping[str, Block], rows: int) -> Iterator[tuple[dict[str, Block], Frontier]]:
    """Blocks of several streams, each in order, cut at the same places of the total order, about `rows` at a time.

    All that came of one tuple of a source stays together; streams with punctuations are not cut.
    """
    full = {name: block for name, block in blocks.items() if block.rows}
    marked = any(block.punctuations is not None for block in blocks.values())
    if not full:
        if marked:
            yield dict(blocks), Frontier(-np.inf, 0, 0)
        return
    roots = _roots(list(full.values()))
    start = dict.fromkeys(full, 0)
    done = 0
    while done < roots.count:
        end = roots.count if marked else roots.end(min(done + rows, roots.count))
        stop = {name: start[name] + more for name, more in zip(full, roots.between(done, end), strict=True)}
        step = {name: block.slice(start[name], stop[name]) for name, block in full.items() if stop[name] > start[name]}
        yield dict(blocks) if marked else step, roots.at(end - 1)
        start, done = stop, end


def _roots(blocks: Sequence[Block]) -> _Roots | _RootsOfOne:
    positions = [block.position.roots() for block in blocks if block.position is not None]
    longest = max(range(len(positions)), key=lambda stream: len(positions[stream]))
    others = sum(len(position) for position in positions) - len(positions[longest])
    return _RootsOfOne(positions, longest) if others * _FEW < len(positions[longest]) else _Roots(positions)


class _Roots:
    """The places of all tuples of some streams in the total order, without output numbers."""

    def __init__(self, bare: Sequence[Position]) -> None:
        self.count = sum(len(p) for p in bare)
        self._starts = np.cumsum([0, *(len(p) for p in bare[:-1])])
        self._order = merge_order(bare, are_roots=_are_mixed(bare)) if len(bare) > 1 else None
        self._joined = bare[0] if self._order is None else concat_position_list(bare).take(self._order)

    def at(self, place: int) -> Frontier:
        """The root at a place of the order."""
        return self._joined.root(place)

    def end(self, place: int) -> int:
        """The first place from there on whose root is another than that of the one before it."""
        while place < self.count and self.at(place) == self.at(place - 1):
            place += 1
        return place

    def between(self, done: int, end: int) -> list[int]:
        """How many tuples of each stream stand between two places."""
        if self._order is None:
            return [end - done]
        streams = np.searchsorted(self._starts, self._order[done:end], side="right") - 1
        counts: list[int] = np.bincount(streams, minlength=len(self._starts)).tolist()
        return counts


class _RootsOfOne:
    """The same where one stream has nearly all tuples, and the others are found in it: ticks next to tuples."""

    def __init__(self, bare: Sequence[Position], longest: int) -> None:
        self._long, self._longest, self._streams = bare[longest], longest, len(bare)
        streams = [stream for stream in range(len(bare)) if stream != longest]
        owners = np.repeat(streams, [len(bare[stream]) for stream in streams]).astype(np.int64)
        few = concat_position_list([bare[stream] for stream in streams] or [bare[longest].slice(0, 0)])
        order = order_of(few)
        self._few, self._owners = few.take(order), owners[order]
        # of equal roots that of the earlier stream stands first
        before = [
            self._long.up_to(self._few.root(row), inclusive=bool(owner > longest))
            for row, owner in enumerate(self._owners)
        ]
        self._places: Integers = np.array(before, np.int64) + np.arange(len(before))
        self.count = len(self._long) + len(before)

    def at(self, place: int) -> Frontier:
        row = int(np.searchsorted(self._places, place))
        is_few = row < len(self._places) and self._places[row] == place
        return self._few.root(row) if is_few else self._long.root(place - row)

    def end(self, place: int) -> int:
        while place < self.count and self.at(place) == self.at(place - 1):
            place += 1
        return place

    def between(self, done: int, end: int) -> list[int]:
        first, last = np.searchsorted(self._places, [done, end]).tolist()
        counts: list[int] = np.bincount(self._owners[first:last], minlength=self._streams).tolist()
        counts[self._longest] = end - done - (last - first)
        return counts


def _are_mixed(roots: Sequence[Position]) -> bool:
    """Whether any of these has tuples of several sources."""
    return any(len(own) and bool((own.place != own.place[0]).any()) for own in roots)
