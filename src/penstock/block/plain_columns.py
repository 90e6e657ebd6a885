"""Columns as plain values that can be pickled piece by piece, without what other pieces have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.block.column import ArrowColumn, CodedColumn, Column, FixedColumn, column_of

Plain = tuple[Any, ...]


class Pieces:
    """A column that is given piece by piece."""

    def __init__(self, column: Column) -> None:
        if isinstance(column, CodedColumn):
            text = column.dictionary.take(pa.array(column.codes, mask=None if column.valid is None else ~column.valid))
            column = ArrowColumn(text)
        self._column = column
        # once for all pieces, of which there is one per slot: Arrow takes long to hand out its buffers
        is_text = isinstance(column, ArrowColumn) and pa.types.is_string(column.type)
        self._buffers = column.string_buffers() if is_text else None  # type: ignore[union-attr]
        self._valid = column.valid

    def piece(self, start: int, stop: int) -> Plain:
        """Some rows: (validity or None, values), (validity, offsets, text), or an Arrow array."""
        valid = None if self._valid is None else self._valid[start:stop].copy()
        column = self._column
        if isinstance(column, FixedColumn):
            return valid, column.values[start:stop].copy()
        if self._buffers is None:
            return (column.take(np.arange(start, stop)).to_arrow(),)
        offsets, text = self._buffers
        first, last = int(offsets[start]), int(offsets[stop])
        return valid, offsets[start : stop + 1] - first, text[first:last].copy()


def column_from(plain: Plain, type_: pa.DataType) -> Column:
    """The column of a piece."""
    if len(plain) == 1:
        return column_of(plain[0])
    if len(plain) == 2:
        return FixedColumn(plain[1], type_, plain[0])
    valid, offsets, text = plain
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bitmap, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(text))]
    strings = pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
    return column_of(strings.dictionary_encode(), type_) if pa.types.is_dictionary(type_) else ArrowColumn(strings)
