"""Tuples that wait for a watermark, by slot, as plain arrays that can be logged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.block.block import Block, concat_blocks
from penstock.block.column import Array, concat
from penstock.block.plain_columns import Pieces, array_from, column_from
from penstock.block.position import Integers, Position
from penstock.kernels.keys.hashing import Slots
from penstock.operators.event_time.keyed_event_time import runs_by_slot

Rows = Mapping[str, Any]
SlotsOf = Callable[[Block], Slots]
_ROOT = (np.float64, np.int64, np.int64, np.int64)  # types of stamp, place, sequence and levels


def rows_by_slot(blocks: Sequence[Block], slots_of: SlotsOf, slots: Integers) -> dict[int, Rows]:
    """The rows of some slots, for each that has any."""
    if not blocks:
        return {}
    block = concat_blocks(blocks)
    order, runs = runs_by_slot(slots_of(block).astype(np.int64), slots)
    block = block.take(order)
    pieces, position = [Pieces(column) for column in block.columns], block.position
    assert position is not None
    given = (position.stamp, position.place, position.sequence, position.levels)
    roots = [array.astype(dtype, copy=False) for array, dtype in zip(given, _ROOT, strict=True)]
    return {slot: _piece(pieces, roots, start, stop) for slot, start, stop in runs if stop > start}


def _piece(pieces: Sequence[Pieces], position: Sequence[Array], start: int, stop: int) -> Rows:
    root = [array[..., start:stop].tobytes() for array in position]
    return {"columns": [piece.piece(start, stop) for piece in pieces], "root": root[:-1], "levels": root[-1]}


def block_of_rows(rows: Iterable[Rows], schema: pa.Schema) -> Block | None:
    """All rows of some slots, None where there are none."""
    full = list(rows)
    if not full:
        return None
    columns = tuple(
        concat([column_from(own["columns"][place], field.type) for own in full]) for place, field in enumerate(schema)
    )
    roots = [[array_from(own["root"][part], _ROOT[part]) for own in full] for part in range(3)]
    levels = [array_from(own["levels"], _ROOT[-1]) for own in full]
    tall = [own.reshape(-1, len(stamp)) for own, stamp in zip(levels, roots[0], strict=True)]
    stamp, place, sequence = (np.concatenate(parts) for parts in roots)
    return Block(schema, columns, len(stamp), Position(stamp, place, sequence, np.concatenate(tall, axis=1)))
