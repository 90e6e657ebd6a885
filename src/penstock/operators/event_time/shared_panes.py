"""Hot keys in two stages at the owner's and at the helpers' side: partials find their place, tuples are checked.

The tuples of a split slot come to all replicas in shares, which only tell the late ones; their partials, made where
their block was, come to the owner.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.app.operators import Aggregate
from penstock.block.block import Block
from penstock.block.column import FixedColumn, Mask, concat
from penstock.block.ordering import order_of
from penstock.block.position import Integers, Position, concat_position_list, later_rows
from penstock.kernels.windows.time.time_window import TimeFired
from penstock.operators.windows.window_attribute import event_times_us

NEVER = np.iinfo(np.int64).min


def late_rows(share: Block, ticks: Block | None, reached: int, operator: Aggregate) -> Integers:
    """The rows of a share of one block that come after a tick of a later pane; `reached` is the pane before the ticks.

    None is behind the clock of its own block, so that the ticks before the share's first row are enough to know.
    """
    every_us = int(operator.window.every)
    if ticks is not None and ticks.position is not None and share.position is not None:
        first = share.position.take(np.zeros(ticks.rows, np.int64))
        before = later_rows(first, ticks.position)
        panes = event_times_us(ticks, operator.window) // every_us
        reached = max(reached, int(panes[before].max(initial=NEVER)))
    return np.flatnonzero(event_times_us(share, operator.window) // every_us < reached)


def places(block: Block, is_tick: Mask, partials: Position) -> Iterator[tuple[int, int, int]]:
    """Where partials go among tuples and ticks: (row, first, last): those of `first` to `last` before that row.

    That is right before the next tick; within a pane their place does not matter, as no tuples of their keys come.
    """
    ticks = np.flatnonzero(is_tick)
    if len(ticks):
        assert block.position is not None
        order = order_of(concat_position_list([block.position.take(ticks), partials]))
        is_partial = order >= len(ticks)
        before = np.cumsum(~is_partial)[is_partial]
    else:
        before = np.zeros(len(partials), np.int64)
    rows = np.append(ticks, block.rows)[before]
    found, firsts = np.unique(rows, return_index=True)
    yield from zip(found.tolist(), firsts.tolist(), [*firsts[1:].tolist(), len(rows)], strict=True)


def joined(runs: list[tuple[int, TimeFired]]) -> TimeFired:
    """What a window fired in several runs, each of which began at a row."""
    fired = [own for _, own in runs]
    columns = [concat(parts) for parts in zip(*(own.columns for own in fired), strict=True)]
    return TimeFired(
        np.concatenate([first + own.rows for first, own in runs]),
        np.concatenate([own.groups for own in fired]),
        np.concatenate([own.ends_us for own in fired]),
        tuple(column for column in columns if isinstance(column, FixedColumn)),
        np.concatenate([first + own.late for first, own in runs]),
    )
