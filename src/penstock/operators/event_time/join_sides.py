"""What the windows of a join by key hold, by slot: keys, times and columns of the rows of each side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.block.column import Column, concat, empty_column
from penstock.block.plain_columns import Pieces, array_from, column_from
from penstock.block.position import Integers
from penstock.operators.event_time.keyed_event_time import KeyedSlots, runs_by_slot
from penstock.operators.windows.join import JoinRuntime

Side = Mapping[str, Any]


class JoinSides:
    """Takes the rows of a join's stores out by slot, and puts them into those of a new one."""

    def __init__(self, join: JoinRuntime, schemas: tuple[pa.Schema, pa.Schema], slots: KeyedSlots) -> None:
        self._join, self._schemas, self._slots = join, schemas, slots

    def export(self, slots: Integers) -> dict[int, list[Side]]:
        """Both sides of each of some slots."""
        sides: dict[int, list[Side]] = {slot: [] for slot in slots.tolist()}
        for port in range(2):
            for slot, side in self._export(port, slots):
                sides[slot].append(side)
        return sides

    def restore(self, clock: float | None, slots: Sequence[Sequence[Side]]) -> None:
        """A new join takes the sides of slots."""
        sides = [self._restore(port, [own[port] for own in slots]) for port in range(2)]
        assert self._join.keys is not None
        self._join.kernel.hold(clock, self._join.keys.count, sides)

    def _export(self, port: int, slots: Integers) -> Iterator[tuple[int, dict[str, Any]]]:
        keys, rows, values = self._join.kernel.held(port)
        order, runs = runs_by_slot(self._slots.by_key()[keys], slots)
        columns, missing = self._join.stores[port].taken(rows[order])
        key_pieces, values = self._slots.key_pieces(keys[order]), values[order].astype(np.float64, copy=False)
        pieces = {place: Pieces(column) for place, column in columns.items()}
        for slot, start, stop in runs:
            yield (
                slot,
                {
                    "keys": (stop - start, [piece.piece(start, stop) for piece in key_pieces]),
                    "values": values[start:stop].tobytes(),
                    "columns": {place: piece.piece(start, stop) for place, piece in pieces.items()},
                    "missing": None if missing is None else missing[start:stop].tobytes(),
                },
            )

    def _restore(self, port: int, sides: Sequence[Mapping[str, Any]]) -> tuple[Integers, Any]:
        """Fills a side's store; gives the keys and values of its rows."""
        full = [side for side in sides if side["keys"][0]]
        keys = [np.zeros(0, np.int64), *(self._slots.assign(plain, rows) for rows, plain in (s["keys"] for s in full))]
        counts = [side["keys"][0] for side in full]
        missing = None
        if any(side["missing"] is not None for side in full):
            masks = zip((side["missing"] for side in full), counts, strict=True)
            missing = np.concatenate(
                [np.zeros(rows, np.bool_) if mask is None else array_from(mask, np.bool_) for mask, rows in masks]
            )
        columns = {place: self._column(port, place, full) for place in self._join.emits.columns_of(port)}
        self._join.stores[port].hold(columns, missing, sum(counts))
        values = [array_from(side["values"], np.float64) for side in full]
        return np.concatenate(keys), np.concatenate([np.zeros(0), *values])

    def _column(self, port: int, place: int, sides: Sequence[Mapping[str, Any]]) -> Column:
        type_ = self._schemas[port].field(place).type
        if not sides:
            return empty_column(type_)
        return concat([column_from(side["columns"][place], type_) for side in sides])
