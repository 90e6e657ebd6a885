"""Keys as rows of words and a stream of text, as slots list them.

A key is one word of null marks (bit i: part i is null) and one word per part: a number's bits, or where the part's text
ends.  The text of a key's parts stands behind that of the key before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.block.column import Array, ArrowColumn, Column, FixedColumn, Mask, numpy_type
from penstock.kernels.keys.hashing import key_bits
from penstock.state.extents import Integers

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class EncodedKeys:
    """Some keys, in order; ends of text count from the first one's start."""

    words: Integers
    text: Bytes


@dataclass(frozen=True, slots=True)
class KeyCodec:
    """Translates between key columns of some types and their words."""

    types: tuple[pa.DataType, ...]

    @property
    def words(self) -> int:
        return 1 + len(self.types)

    @property
    def is_text(self) -> npt.NDArray[np.bool_]:
        """Which of a key's words are ends of text."""
        return np.array([False, *(_is_text(type_) for type_ in self.types)])

    def encode(self, columns: Sequence[Column], rows: int) -> EncodedKeys:
        words: Integers = np.zeros((rows, self.words), np.int64)
        texts: list[pa.Array] = []
        for place, column in enumerate(columns):
            if column.valid is not None:
                words[:, 0] |= (~column.valid).astype(np.int64) << place
            if isinstance(column, FixedColumn):
                words[:, 1 + place] = (
                    key_bits(column.values) if column.valid is None else key_bits(column.values) * column.valid
                )
            else:
                texts.append(pc.fill_null(column.to_arrow().cast(pa.string()), ""))
        if not texts or not rows:
            return EncodedKeys(words, np.empty(0, np.uint8))
        lengths = np.stack([np.diff(_offsets(text)) for text in texts], axis=1).astype(np.int64)
        words[:, self.is_text] = np.cumsum(lengths.ravel()).reshape(lengths.shape)
        joined = texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, "")
        return EncodedKeys(words, _text(joined))

    def decode(self, keys: EncodedKeys) -> tuple[Column, ...]:
        """The key columns; strings come as text, whatever they were."""
        pieces = _pieces(keys.words[:, self.is_text], keys.text)
        text_parts, columns, seen = int(self.is_text.sum()), [], 0
        for place, type_ in enumerate(self.types):
            valid: Mask | None = (keys.words[:, 0] >> place) & 1 == 0
            if valid is not None and valid.all():
                valid = None
            if _is_text(type_):
                chosen = np.arange(seen, len(pieces), text_parts)
                columns.append(_texts(pieces, chosen, valid))
                seen += 1
            else:
                columns.append(FixedColumn(_as_type(keys.words[:, 1 + place], numpy_type(type_)), type_, valid))
        return tuple(columns)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_dictionary(type_))


def _offsets(text: pa.Array) -> npt.NDArray[np.int32]:
    return ArrowColumn(text).string_buffers()[0]


def _text(text: pa.Array) -> Bytes:
    offsets, data = ArrowColumn(text).string_buffers()
    return data[offsets[0] : offsets[-1]]


def _pieces(ends: Integers, text: Bytes) -> pa.Array:
    """All parts' texts, key by key."""
    offsets = np.zeros(ends.size + 1, np.int64)
    offsets[1:] = ends.ravel()
    return pa.Array.from_buffers(pa.large_string(), ends.size, [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def _texts(pieces: pa.Array, chosen: Array, valid: Mask | None) -> Column:
    indices = pa.array(chosen, mask=None if valid is None else ~valid)
    return ArrowColumn(pieces.take(indices).cast(pa.string()))


def _as_type(bits: Integers, dtype: np.dtype[Any]) -> Array:
    bits = np.ascontiguousarray(bits)
    if dtype.kind == "f":
        return bits.view(np.float64).astype(dtype, copy=False)
    return bits.view(np.uint64) if dtype == np.uint64 else bits.astype(dtype, copy=False)
