"""Columns of a block: thin views over Arrow memory that kernels can read without copying.

Three: FixedColumn (numbers, booleans, timestamps as numpy), CodedColumn (dictionary-coded strings, codes as numpy)
and ArrowColumn (strings, lists; WordColumn where strings came as codes).  A hot path: one column costs about a
microsecond to make, a pyarrow array several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.block.schema import SYMBOL, type_of

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


def numpy_type(type_: pa.DataType) -> np.dtype[Any]:
    """The numpy type that holds a fixed-width Arrow type; timestamps are int64 microseconds."""
    if pa.types.is_timestamp(type_):
        return np.dtype(np.int64)
    if pa.types.is_boolean(type_):
        return np.dtype(np.bool_)
    dtype: np.dtype[Any] = np.dtype(type_.to_pandas_dtype())
    return dtype


def taken(values: Array, rows: Array) -> Array:
    """The values of some rows, given by number or as a mask.

    `take` needs 1.3 ns a row where an index needs 3.2 (60,000 of 100,000 rows), and would read a mask as numbers.
    """
    by_number = isinstance(rows, np.ndarray) and rows.dtype.kind == "i"
    found: Array = values.take(rows) if by_number else values[rows]
    return found


class FixedColumn:
    """Numbers, booleans (one byte each) or timestamps; `valid` is None where there are no nulls."""

    __slots__ = ("type", "valid", "values")

    def __init__(self, values: Array, type_: pa.DataType, valid: Mask | None = None) -> None:
        self.values, self.type, self.valid = values, type_, valid

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Array) -> FixedColumn:
        return FixedColumn(taken(self.values, rows), self.type, None if self.valid is None else taken(self.valid, rows))

    def slice(self, start: int, stop: int) -> FixedColumn:
        return FixedColumn(self.values[start:stop], self.type, None if self.valid is None else self.valid[start:stop])

    def to_arrow(self) -> pa.Array:
        return _arrow_of(self.values, self.type, self.valid)

    @property
    def nbytes(self) -> int:
        """Bytes of its rows."""
        return int(self.values.nbytes)


class CodedColumn:
    """Dictionary-coded strings: int32 codes into an Arrow string array without nulls."""

    __slots__ = ("codes", "dictionary", "type", "valid")

    def __init__(self, codes: Array, dictionary: pa.Array, valid: Mask | None = None) -> None:
        self.codes, self.dictionary, self.valid = codes, dictionary, valid
        self.type = SYMBOL

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Array) -> CodedColumn:
        valid = None if self.valid is None else taken(self.valid, rows)
        return CodedColumn(taken(self.codes, rows), self.dictionary, valid)

    def slice(self, start: int, stop: int) -> CodedColumn:
        valid = None if self.valid is None else self.valid[start:stop]
        return CodedColumn(self.codes[start:stop], self.dictionary, valid)

    def to_arrow(self) -> pa.Array:
        return pa.DictionaryArray.from_arrays(_arrow_of(self.codes, pa.int32(), self.valid), self.dictionary)

    @property
    def nbytes(self) -> int:
        """Bytes of its rows; many columns share a dictionary."""
        return int(self.codes.nbytes)


class ArrowColumn:
    """Strings and lists, as the Arrow array itself (never chunked)."""

    __slots__ = ("array", "type")

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        self.type = array.type

    def __len__(self) -> int:
        return len(self.array)

    @property
    def valid(self) -> Mask | None:
        """One byte per row, or None where there are no nulls."""
        if self.array.null_count == 0:
            return None
        mask: Mask = np.asarray(pc.is_valid(self.array).to_numpy(zero_copy_only=False), dtype=np.bool_)
        return mask

    def take(self, rows: Array) -> ArrowColumn:
        return ArrowColumn(self.array.take(pa.array(rows)))

    def slice(self, start: int, stop: int) -> ArrowColumn:
        return ArrowColumn(self.array.slice(start, stop - start))

    def to_arrow(self) -> pa.Array:
        return self.array

    @property
    def nbytes(self) -> int:
        """Bytes of its rows."""
        return int(self.array.nbytes)

    def string_buffers(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        """Offsets (rows + 1) and bytes of a string array, without copying; null rows have any length."""
        _, offsets, data = self.array.buffers()
        starts = (
            np.frombuffer(offsets, np.int32, len(self.array) + 1, 4 * self.array.offset)
            if offsets
            else np.zeros(1, np.int32)
        )
        text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        return starts, text


class WordColumn(ArrowColumn):
    """Strings that came as codes into a dictionary, as files have them: an array of them once somebody asks.

    To its readers it is an ArrowColumn.  To take rows, hash, find keys and send by code costs a fifth of what it costs
    by text.
    """

    __slots__ = ("_array", "coded")

    def __init__(self, coded: CodedColumn) -> None:
        self.coded, self.type = coded, pa.string()
        self._array: pa.Array | None = None

    @property
    def array(self) -> pa.Array:
        """The strings themselves."""
        if self._array is None:
            valid = self.coded.valid
            codes = pa.array(self.coded.codes, mask=None if valid is None else ~valid)
            self._array = self.coded.dictionary.take(codes)
        return self._array

    def __len__(self) -> int:
        return len(self.coded)

    def __reduce__(self) -> tuple[type[ArrowColumn], tuple[pa.Array]]:
        return ArrowColumn, (self.array,)

    @property
    def valid(self) -> Mask | None:
        return self.coded.valid

    def take(self, rows: Array) -> WordColumn:
        return WordColumn(self.coded.take(rows))

    def slice(self, start: int, stop: int) -> WordColumn:
        part = WordColumn(self.coded.slice(start, stop))
        part._array = None if self._array is None else self._array.slice(start, stop - start)
        return part

    @property
    def nbytes(self) -> int:
        return self.coded.nbytes

    def to_wire(self) -> pa.Array:
        """The shorter of both forms; `column_of` makes a column of either."""
        return self.coded.to_arrow() if len(self.coded.dictionary) <= len(self) else self.array


Column = FixedColumn | CodedColumn | ArrowColumn
_FEW = 8  # so many times as many rows have words: to find those of the few is less work than to write all texts out


def column_of(array: pa.Array | pa.ChunkedArray, type_: pa.DataType | None = None) -> Column:
    """The column over an Arrow array, cast to `type_` (one of `penstock.block.schema`'s types) where it differs."""
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # a dictionary array may stay chunked
            array = pa.concat_arrays(array.unify_dictionaries().chunks)
    wanted = type_of(array.type) if type_ is None else type_
    if pa.types.is_string(wanted) and is_coded_text(array):
        return WordColumn(_coded(array.cast(SYMBOL)))
    if array.type != wanted:
        array = array.cast(wanted)
    if pa.types.is_dictionary(wanted):
        return _coded(array)
    if pa.types.is_boolean(wanted):
        return FixedColumn(np.asarray(array.fill_null(False).to_numpy(zero_copy_only=False)), wanted, _mask(array))
    if pa.types.is_primitive(wanted):
        dtype = numpy_type(wanted)
        data = array.buffers()[1]
        values = np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize) if data else np.empty(0, dtype)
        return FixedColumn(values, wanted, _mask(array))
    return ArrowColumn(array)


def concat(columns: Sequence[Column]) -> Column:
    """One column of several of the same type, in order."""
    if len(columns) == 1:
        return columns[0]
    first = columns[0]
    if isinstance(first, FixedColumn):
        fixed = [c for c in columns if isinstance(c, FixedColumn)]
        return FixedColumn(np.concatenate([c.values for c in fixed]), first.type, _concat_masks(fixed))
    if isinstance(first, CodedColumn):
        coded = [c for c in columns if isinstance(c, CodedColumn)]
        if all(c.dictionary is first.dictionary for c in coded):
            return CodedColumn(np.concatenate([c.codes for c in coded]), first.dictionary, _concat_masks(coded))
        return column_of(pa.chunked_array([c.to_arrow() for c in coded]))
    columns = [c for c in columns if len(c)] or columns[:1]  # an empty column has no codes
    words = [c.coded for c in _as_words(columns)]
    if words and _are_few(words):
        joined = concat(_of_one_dictionary(words))
        assert isinstance(joined, CodedColumn)
        return WordColumn(joined)
    return ArrowColumn(pa.concat_arrays([c.to_arrow() for c in columns]))


def is_coded_text(array: pa.Array) -> bool:
    """Whether an array has strings as codes into a dictionary that is no longer than itself, and has no null in it."""
    is_coded = pa.types.is_dictionary(array.type) and pa.types.is_string(array.type.value_type)
    return bool(is_coded and len(array.dictionary) <= len(array) and not array.dictionary.null_count)


def with_own_words(column: Column) -> Column:
    """The column with a copy of its dictionary, which others keep for long: it holds on to nothing else then."""
    coded = column.coded if isinstance(column, WordColumn) else column
    if not isinstance(coded, CodedColumn):
        return column
    offsets, text = ArrowColumn(coded.dictionary).string_buffers()
    first, last = int(offsets[0]), int(offsets[-1])
    buffers = [None, pa.py_buffer(offsets - np.int32(first)), pa.py_buffer(text[first:last].copy())]
    words = pa.Array.from_buffers(pa.string(), len(coded.dictionary), buffers)
    own = CodedColumn(coded.codes, words, coded.valid)
    return WordColumn(own) if isinstance(column, WordColumn) else own


def empty_column(type_: pa.DataType) -> Column:
    """A column of no rows."""
    return column_of(pa.array([], type_))


def _as_words(columns: Sequence[Column]) -> list[WordColumn]:
    """All as words where but few rows are not: those of a block that was too short to have words.  Else none."""
    plain = sum(len(c) for c in columns if not isinstance(c, WordColumn))
    if plain * _FEW > sum(len(c) for c in columns) or not any(isinstance(c, WordColumn) for c in columns):
        return []
    return [c if isinstance(c, WordColumn) else WordColumn(_coded(c.to_arrow().dictionary_encode())) for c in columns]


def _are_few(columns: Sequence[CodedColumn]) -> bool:
    """Whether to compare dictionaries, or put them together, is less work than to write all texts out."""
    by_identity = {id(c.dictionary): len(c.dictionary) for c in columns}
    return len(by_identity) == 1 or sum(by_identity.values()) <= sum(len(c) for c in columns)


def _of_one_dictionary(columns: Sequence[CodedColumn]) -> Sequence[CodedColumn]:
    """The columns over the first one's dictionary where all have the same words; each block brings its own copy."""
    first = columns[0].dictionary
    if not all(c.dictionary is first or c.dictionary.equals(first) for c in columns):
        return columns
    return [CodedColumn(c.codes, first, c.valid) for c in columns]


def _coded(array: pa.DictionaryArray) -> CodedColumn:
    dictionary = array.dictionary
    if dictionary.null_count:
        return _coded(array.cast(pa.string()).dictionary_encode().cast(SYMBOL))
    codes = array.indices
    mask = _mask(codes)
    data = codes.buffers()[1]
    values = np.frombuffer(data, np.int32, len(codes), 4 * codes.offset) if data else np.empty(0, np.int32)
    return CodedColumn(values, dictionary, mask)


def _mask(array: pa.Array) -> Mask | None:
    if array.null_count == 0:
        return None
    return np.asarray(pc.is_valid(array).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _concat_masks(columns: Sequence[FixedColumn] | Sequence[CodedColumn]) -> Mask | None:
    if all(c.valid is None for c in columns):
        return None
    return np.concatenate([np.ones(len(c), np.bool_) if c.valid is None else c.valid for c in columns])


def _arrow_of(values: Array, type_: pa.DataType, valid: Mask | None) -> pa.Array:
    """An Arrow array over numpy memory, without copying the values (booleans are packed into bits)."""
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    if pa.types.is_boolean(type_):
        data = pa.py_buffer(np.packbits(values, bitorder="little"))
    else:
        data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(type_, len(values), [bitmap, data])
