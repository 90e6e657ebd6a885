"""Made-up tuples of a schema, for warm-ups: they look like nothing, and have the right types."""

from __future__ import annotations

import datetime
import time

import numpy as np
import pyarrow as pa

_KEYS = 16


def synthetic_batch(schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """So many tuples; numbers go round, times are of now and grow.

    >>> synthetic_batch(pa.schema([("ticker", pa.string()), ("price", pa.float64())]), 2).to_pylist()
    [{'ticker': 'k0', 'price': 1.0}, {'ticker': 'k1', 'price': 2.0}]
    """
    return pa.RecordBatch.from_arrays([_column(field.type, rows) for field in schema], schema=schema)


def _column(kind: pa.DataType, rows: int) -> pa.Array:
    numbers = np.arange(rows) % _KEYS
    if pa.types.is_dictionary(kind):
        return _column(kind.value_type, rows).dictionary_encode().cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array(numbers % 2 == 0)
    if pa.types.is_integer(kind):
        return pa.array(numbers).cast(kind)
    if pa.types.is_floating(kind):
        return pa.array(numbers + 1.0).cast(kind)
    if pa.types.is_temporal(kind):
        return _times(kind, rows)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array([f"k{number}" for number in numbers.tolist()], kind)
    return pa.nulls(rows, kind)


def _times(kind: pa.DataType, rows: int) -> pa.Array:
    began_us = int(time.time() * 1e6)
    moments = pa.array(np.arange(rows) * 1000 + began_us).cast(pa.timestamp("us"))
    if pa.types.is_timestamp(kind):
        return moments.cast(pa.timestamp(kind.unit), safe=False).cast(kind)
    if pa.types.is_date(kind):
        return pa.array([datetime.date(2024, 1, 1)] * rows).cast(kind)
    return pa.nulls(rows, kind)
