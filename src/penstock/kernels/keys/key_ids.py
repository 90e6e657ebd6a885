"""Keys become dense ids, on which all keyed state is indexed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.block.column import Array, ArrowColumn, CodedColumn, Column, FixedColumn, Mask, WordColumn, numpy_type
from penstock.errors import InputError
from penstock.kernels.keys.integer_keys import Ids, IntegerKeys, Integers
from penstock.kernels.keys.string_keys import StringKeys

_NAN_BITS = np.float64(np.nan).view(np.int64)


class KeyIndex:
    """Gives each distinct key the next id: 0, 1, 2, ... in order of first appearance, for the whole life of the index.

    A key has one column or several (or none: all rows are one key).  Null is a key of its own; so is NaN, whatever its
    bits, and -0.0 is 0.0.  A string is the same key as text and as a code.

    >>> index = KeyIndex((pa.string(),))
    >>> index.assign([ArrowColumn(pa.array(["b", "a", None, "b"]))], 4).tolist()
    [0, 1, 2, 0]
    >>> index.columns(np.array([2, 1], np.int32))[0].to_arrow().to_pylist()
    [None, 'a']
    """

    def __init__(self, types: tuple[pa.DataType, ...]) -> None:
        for type_ in types:
            if not _is_string(type_) and not pa.types.is_primitive(type_):
                raise InputError(f"a key is a string, number, boolean or timestamp; got {type_}")
        self.types = types
        self._parts = tuple(StringKeys() if _is_string(type_) else IntegerKeys() for type_ in types)
        # The ids of the first two columns make a pair, that pair's id and the third column's another, and so on.
        self._pairs = tuple(IntegerKeys() for _ in types[1:])
        self._has_rows = False

    @property
    def count(self) -> int:
        """Distinct keys so far."""
        if not self.types:
            return int(self._has_rows)
        return self._pairs[-1].count if self._pairs else self._parts[0].count

    @property
    def state_bytes(self) -> int:
        return sum(part.state_bytes for part in (*self._parts, *self._pairs))

    def assign(self, columns: Sequence[Column], rows: int) -> Ids:
        """The id of each row's key."""
        if not self.types:
            self._has_rows |= rows > 0
            return np.zeros(rows, np.int32)
        ids = [_assign(part, column) for part, column in zip(self._parts, columns, strict=True)]
        paired = ids[0]
        for pairs, right in zip(self._pairs, ids[1:], strict=True):
            paired = pairs.assign(_packed(paired, right), None)
        return paired

    def columns(self, ids: npt.NDArray[np.int32]) -> tuple[Column, ...]:
        """The key columns of some ids."""
        part_ids: list[npt.NDArray[np.int32]] = []
        left = ids
        for pairs in reversed(self._pairs):
            packed = pairs.keys[left]
            part_ids.append(packed.astype(np.int32))
            left = (packed >> 32).astype(np.int32)
        part_ids.append(left)
        parts = zip(self._parts, self.types, reversed(part_ids), strict=False)
        return tuple(_column(part, type_, chosen) for part, type_, chosen in parts)

    def export(self) -> dict[str, Array]:
        """All keys as arrays, in the order of their ids, for a snapshot."""
        arrays: dict[str, Array] = {"rows": np.array([self._has_rows])}
        for place, part in enumerate(self._parts):
            arrays[f"null_{place}"] = np.array([-1 if part.null_id is None else part.null_id])
            if isinstance(part, StringKeys):
                offsets, text = ArrowColumn(part.dictionary).string_buffers()
                arrays[f"offsets_{place}"], arrays[f"text_{place}"] = offsets.copy(), text[: offsets[-1]].copy()
            else:
                arrays[f"keys_{place}"] = part.keys.copy()
        for place, pairs in enumerate(self._pairs):
            arrays[f"pairs_{place}"] = pairs.keys.copy()
        return arrays

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """A new index goes on where one of the same types was exported."""
        self._has_rows = bool(arrays["rows"][0])
        for place, part in enumerate(self._parts):
            null_id = int(arrays[f"null_{place}"][0])
            if isinstance(part, StringKeys):
                part.assign(_strings(arrays[f"offsets_{place}"], arrays[f"text_{place}"], null_id))
            else:
                keys = arrays[f"keys_{place}"]
                part.assign(keys, None if null_id < 0 else np.arange(len(keys)) != null_id)
        for place, pairs in enumerate(self._pairs):
            pairs.assign(arrays[f"pairs_{place}"], None)


def _is_string(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_dictionary(type_))


def _assign(part: IntegerKeys | StringKeys, column: Column) -> Ids:
    if isinstance(part, StringKeys):
        assert not isinstance(column, FixedColumn)
        return part.assign(column)
    assert isinstance(column, FixedColumn)
    return part.assign(_as_integers(column.values), column.valid)


def _as_integers(values: Array) -> npt.NDArray[np.int32] | Integers:
    """Numbers of any type as integers that are equal where the keys are."""
    if values.dtype.kind == "f":
        bits: Integers = (values.astype(np.float64) + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0
        bits[np.isnan(values)] = _NAN_BITS
        return bits
    if values.dtype != np.int32:
        values = values.view(np.int64) if values.dtype == np.uint64 else values.astype(np.int64, copy=False)
    flags = values.flags
    return values if flags.c_contiguous and flags.aligned else np.array(values)


def _packed(left: Ids, right: Ids) -> Integers:
    packed: Integers = left.astype(np.int64)
    packed <<= 32
    packed |= right
    return packed


def _column(part: IntegerKeys | StringKeys, type_: pa.DataType, ids: npt.NDArray[np.int32]) -> Column:
    valid: Mask | None = None if part.null_id is None else ids != part.null_id
    if valid is not None and valid.all():
        valid = None
    if isinstance(part, IntegerKeys):
        return FixedColumn(_as_type(part.keys.take(ids), numpy_type(type_)), type_, valid)
    coded = CodedColumn(ids, part.dictionary, valid)
    return coded if pa.types.is_dictionary(type_) else WordColumn(coded)


def _as_type(keys: Integers, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return keys.view(np.float64).astype(dtype, copy=False)
    return keys.view(np.uint64) if dtype == np.uint64 else keys.astype(dtype, copy=False)


def _strings(offsets: Array, text: Array, null_id: int) -> ArrowColumn:
    valid = None if null_id < 0 else np.arange(len(offsets) - 1) != null_id
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bitmap, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(text))]
    return ArrowColumn(pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers))
