"""Columns as plain values that can be pickled piece by piece, without what other pieces have.

Values are bytes: to pickle an array takes longer than to copy some hundred values, and there are pieces for each slot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.block.column import Array, ArrowColumn, CodedColumn, Column, FixedColumn, column_of

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
        self._values = column.values if isinstance(column, FixedColumn) else None
        self._dtype = "" if self._values is None else self._values.dtype.str

    def piece(self, start: int, stop: int) -> Plain:
        """Some rows: (validity or None, (type, values)), (validity, offsets, text), or an Arrow array."""
        valid = None if self._valid is None else self._valid[start:stop].tobytes()
        if self._values is not None:
            return valid, (self._dtype, self._values[start:stop].tobytes())
        if self._buffers is None:
            return (self._column.take(np.arange(start, stop)).to_arrow(),)
        offsets, text = self._buffers
        first, last = int(offsets[start]), int(offsets[stop])
        return valid, (offsets[start : stop + 1] - np.int32(first)).tobytes(), text[first:last].tobytes()


def array_from(plain: bytes | Array, dtype: npt.DTypeLike) -> Array:
    """Values of a piece; older versions wrote arrays."""
    return np.frombuffer(bytearray(plain), dtype) if isinstance(plain, bytes) else plain


def column_from(plain: Plain, type_: pa.DataType) -> Column:
    """The column of a piece."""
    if len(plain) == 1:
        return column_of(plain[0])
    valid = None if plain[0] is None else array_from(plain[0], np.bool_)
    if len(plain) == 2:
        values = array_from(plain[1][1], plain[1][0]) if isinstance(plain[1], tuple) else plain[1]
        return FixedColumn(values, type_, valid)
    offsets, text = array_from(plain[1], np.int32), array_from(plain[2], np.uint8)
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bitmap, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(text))]
    strings = pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
    return column_of(strings.dictionary_encode(), type_) if pa.types.is_dictionary(type_) else ArrowColumn(strings)
