"""Tuples that wait for a watermark, by slot, as plain arrays that can be logged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.block.block import Block, concat_blocks
from penstock.block.column import concat
from penstock.block.plain_columns import Pieces, column_from
from penstock.block.position import Integers, Position
from penstock.kernels.keys.hashing import Slots
from penstock.operators.event_time.keyed_event_time import runs_by_slot

Rows = Mapping[str, Any]
SlotsOf = Callable[[Block], Slots]


def rows_by_slot(blocks: Sequence[Block], slots_of: SlotsOf, slots: Integers) -> dict[int, Rows]:
    """The rows of some slots, for each that has any."""
    if not blocks:
        return {}
    block = concat_blocks(blocks)
    order, runs = runs_by_slot(slots_of(block).astype(np.int64), slots)
    block = block.take(order)
    pieces = [Pieces(column) for column in block.columns]
    return {slot: _piece(block, pieces, start, stop) for slot, start, stop in runs if stop > start}


def _piece(block: Block, pieces: Sequence[Pieces], start: int, stop: int) -> Rows:
    position = block.position
    assert position is not None
    part = slice(start, stop)
    root = [array[part].copy() for array in (position.stamp, position.place, position.sequence)]
    columns = [piece.piece(start, stop) for piece in pieces]
    return {"columns": columns, "root": root, "levels": position.levels[:, part].copy()}


def block_of_rows(rows: Iterable[Rows], schema: pa.Schema) -> Block | None:
    """All rows of some slots, None where there are none."""
    full = list(rows)
    if not full:
        return None
    columns = tuple(
        concat([column_from(own["columns"][place], field.type) for own in full]) for place, field in enumerate(schema)
    )
    stamp, place, sequence = (np.concatenate([own["root"][part] for own in full]) for part in range(3))
    position = Position(stamp, place, sequence, np.concatenate([own["levels"] for own in full], axis=1))
    return Block(schema, columns, len(stamp), position)
