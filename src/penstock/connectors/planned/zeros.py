"""Attributes that nobody reads, without the work of reading them."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def with_zeros(batch: pa.RecordBatch, left_out: Sequence[pa.Field]) -> pa.RecordBatch:
    """The batch with attributes that nobody reads, as zeros or empty texts.

    >>> batch = pa.record_batch({"price": [1.0, 2.0]})
    >>> with_zeros(batch, [pa.field("seq", pa.int64())]).to_pylist()
    [{'price': 1.0, 'seq': 0}, {'price': 2.0, 'seq': 0}]
    """
    if not left_out:
        return batch
    arrays = [*batch.columns, *(zeros(field.type, batch.num_rows) for field in left_out)]
    return pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *(field.name for field in left_out)])


def zeros(type_: pa.DataType, rows: int) -> pa.Array:
    """Rows of zeros, or of empty texts, over memory that all of them share."""
    if pa.types.is_dictionary(type_):
        return pa.DictionaryArray.from_arrays(zeros(type_.index_type, rows), pa.array([""], type_.value_type))
    data = pa.py_buffer(_zero_bytes(max(1 << (8 * (rows + 1)).bit_length(), 1 << 20)))
    buffers = [None, data, data] if pa.types.is_string(type_) else [None, data]
    return pa.Array.from_buffers(type_, rows, buffers)


@functools.lru_cache(maxsize=4)
def _zero_bytes(size: int) -> npt.NDArray[np.uint8]:
    return np.zeros(size, np.uint8)  # never touched, so it takes no memory
