"""Rows as JSON text, made by columns: what `json` writes of each row's dict.

Few rows go through Arrow's functions, at some 600 ns a row of 5; many go through one compiled loop, at 0.4 of that.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.block.texts.json_rows import DECIMAL, FLAG, INTEGER, JSON, MOMENT, TEXT, JsonColumn, decimals, json_rows

# one for all values: json.dumps would make an encoder per call
_ENCODER = json.JSONEncoder(default=str, ensure_ascii=False)
_ESCAPED = '["\\\\\\x00-\\x1f]'  # what JSON must escape in a text
_YEAR_1000_US, _YEAR_10000_US = -30_610_224_000_000_000, 253_402_300_800_000_000
_WITHOUT_FRACTION = len("2026-01-01 00:00:00")
_UTC = ("UTC", "Etc/UTC", "+00:00")
_MANY = 1000  # rows from which on loading the compiled loop pays


def json_text(value: Any) -> str:
    """One value as JSON; what JSON has no form for is its `str`."""
    return _ENCODER.encode(value)


def row_texts(batch: pa.RecordBatch) -> pa.Array:
    """Each row as JSON text.

    >>> row_texts(pa.record_batch({"key": ["a", None], "x": [1.0, 2.5]})).to_pylist()
    ['{"key": "a", "x": 1.0}', '{"key": null, "x": 2.5}']
    """
    if not batch.num_columns or len(set(batch.schema.names)) < batch.num_columns:
        return pa.array([json_text(row) for row in batch.to_pylist()], pa.string())
    found = looped_texts(batch) if batch.num_rows >= _MANY else None
    return joined_texts(batch) if found is None else found


def joined_texts(batch: pa.RecordBatch) -> pa.Array:
    """The same by Arrow's functions, of attributes with different names."""
    pieces: list[pa.Array | pa.Scalar] = []
    for place, name in enumerate(batch.schema.names):
        start = "{" if place == 0 else ", "
        pieces += [pa.scalar(f"{start}{json_text(name)}: "), _texts(batch.column(place))]
    return pc.binary_join_element_wise(*pieces, pa.scalar("}"), pa.scalar(""))


def looped_texts(batch: pa.RecordBatch) -> pa.Array | None:
    """The same by the compiled loop; None where the texts are too long for one array."""
    names = [json_text(name) for name in batch.schema.names]
    return json_rows(names, [_column(batch.column(place)) for place in range(batch.num_columns)], batch.num_rows)


def _column(values: pa.Array) -> JsonColumn:
    """An attribute as the loop takes it."""
    kind = values.type
    valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
    if pa.types.is_dictionary(kind):
        return _column(values.dictionary_decode())
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return JsonColumn(INTEGER, valid, values.cast(pa.int64()).fill_null(0).to_numpy())
    if pa.types.is_boolean(kind):
        return JsonColumn(FLAG, valid, values.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64))
    if pa.types.is_floating(kind):
        return _decimal_column(values.cast(pa.float64()), valid)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return JsonColumn(TEXT, valid, texts=values.cast(pa.string()))
    moments = _plain_moments(values)
    if moments is None:
        return JsonColumn(JSON, texts=_texts(values))
    numbers = moments.cast(pa.int64()).fill_null(0).to_numpy()
    return JsonColumn(MOMENT, valid, numbers, suffix=b"" if kind.tz is None else b"+00:00")


def _decimal_column(values: pa.Array, valid: np.ndarray[Any, Any] | None) -> JsonColumn:
    """Floats; those of many digits have their texts next to them."""
    digits, scales = decimals(values.fill_null(0.0).to_numpy())
    others = scales < 0
    if not others.any():
        return JsonColumn(DECIMAL, valid, digits, scales)
    texts = _numbers(values.filter(pa.array(others)))
    places = np.cumsum(others) - 1
    spread = texts.take(pa.array(places, mask=~others)) if not others.all() else texts
    return JsonColumn(DECIMAL, valid, digits, scales, spread)


def _texts(values: pa.Array) -> pa.Array:
    """Each value as JSON text."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        found = _texts(values.dictionary).take(values.indices)
    elif pa.types.is_integer(kind):
        found = values.cast(pa.string())
    elif pa.types.is_boolean(kind):
        found = pc.if_else(values, "true", "false")
    elif pa.types.is_floating(kind):
        found = _numbers(values)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        found = _quoted(values.cast(pa.string()))
    elif (moments := _plain_moments(values)) is not None:
        found = _moments(moments, "" if kind.tz is None else "+00:00")
    else:
        found = _one_by_one(values)
    return found.fill_null("null")


def _numbers(values: pa.Array) -> pa.Array:
    """Floats as Python writes them; Arrow writes the same digits where neither of them takes an exponent."""
    wide = values.cast(pa.float64())
    numbers = wide.to_numpy(zero_copy_only=False)
    size = np.abs(numbers)
    is_plain = ((size >= 1e-4) & (size < 1e10)) | (size == 0)
    is_whole = is_plain & (np.trunc(numbers) == numbers)
    texts = wide.cast(pa.string())
    texts = pc.if_else(pa.array(is_whole), pc.binary_join_element_wise(texts, pa.scalar(".0"), pa.scalar("")), texts)
    others = ~is_plain
    if not others.any():
        return texts
    return pc.replace_with_mask(texts, pa.array(others), _one_by_one(wide.filter(pa.array(others))))


def _quoted(values: pa.Array) -> pa.Array:
    quote = pa.scalar('"')
    texts = pc.binary_join_element_wise(quote, values, quote, pa.scalar(""))
    special = pc.match_substring_regex(values, _ESCAPED).fill_null(False)
    if not pc.any(special).as_py():
        return texts
    return pc.replace_with_mask(texts, special, _one_by_one(values.filter(special)))


def _plain_moments(values: pa.Array) -> pa.Array | None:
    """Moments of the years 1000 to 9999 in microseconds, without a zone or of UTC; None where they are not such."""
    kind = values.type
    if not pa.types.is_timestamp(kind) or kind.tz not in (None, *_UTC):
        return None
    try:
        moments = values.cast(pa.timestamp("us", kind.tz)).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:  # parts of a microsecond, or seconds too far away
        return None
    bounds = pc.min_max(moments.cast(pa.int64()))
    lowest, highest = bounds["min"].as_py(), bounds["max"].as_py()
    return None if lowest is not None and (lowest < _YEAR_1000_US or highest >= _YEAR_10000_US) else moments


def _moments(values: pa.Array, suffix: str) -> pa.Array:
    """Moments as Python's `str` writes them: a fraction only where there is one."""
    is_whole = pa.array(values.cast(pa.int64()).fill_null(0).to_numpy() % 1_000_000 == 0)
    texts = values.cast(pa.string())
    texts = pc.if_else(is_whole, pc.utf8_slice_codeunits(texts, 0, _WITHOUT_FRACTION), texts)
    return pc.binary_join_element_wise(pa.scalar('"'), texts, pa.scalar(f'{suffix}"'), pa.scalar(""))


def _one_by_one(values: pa.Array) -> pa.Array:
    return pa.array([None if value is None else json_text(value) for value in values.to_pylist()], pa.string())
