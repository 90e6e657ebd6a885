"""Blocks of one stream that came from several replicas, put into the total order, and joint steps over streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from penstock.element.block import Block, concat_blocks
from penstock.element.position import Frontier, Integers, Position


def in_order(blocks: Sequence[Block]) -> Block:
    """One block of several: by position where they have positions, else one after the other."""
    joined = concat_blocks(blocks)
    if joined.position is None or joined.punctuations is not None or is_ascending(joined.position):
        return joined
    return joined.take(order_of(joined.position))


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
    total = sum(block.rows for block in blocks.values())
    roots = {name: _roots(block) for name, block in blocks.items() if block.rows}
    marked = any(block.punctuations is not None for block in blocks.values())
    if not roots:
        if marked:
            yield dict(blocks), Frontier(-np.inf, 0, 0)
        return
    joined = np.concatenate(list(roots.values()))
    order = np.argsort(joined, kind="stable") if len(roots) > 1 else np.arange(len(joined))
    ordered = joined[order]
    start = dict.fromkeys(blocks, 0)
    done = 0
    while done < total:
        end = total if marked else min(done + rows, total)
        while end < total and ordered[end] == ordered[end - 1]:
            end += 1
        last = ordered[end - 1]
        cut = {name: int(np.searchsorted(own, last, side="right")) for name, own in roots.items()}
        step = {name: block if marked else block.slice(start[name], cut.get(name, 0))
                for name, block in blocks.items() if marked or cut.get(name, 0) > start[name]}  # fmt: skip
        yield step, Frontier(*last.item())
        start |= cut
        done = end


_ROOT = np.dtype([("stamp", np.float64), ("place", np.int64), ("sequence", np.int64)])


def _roots(block: Block) -> npt.NDArray[np.void]:
    assert block.position is not None
    roots = np.empty(block.rows, _ROOT)
    roots["stamp"], roots["place"] = block.position.stamp, block.position.place
    roots["sequence"] = block.position.sequence
    return roots
