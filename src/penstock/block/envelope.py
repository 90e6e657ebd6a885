"""Envelopes: blocks as bytes, on their way from one element to another.

The bytes depend on the tuples alone, so that a task that runs again writes the same ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.block.block import Block
from penstock.block.column import Array, Column, FixedColumn, WordColumn, column_of, with_own_words
from penstock.block.position import Position
from penstock.block.punctuation import Punctuations

_MANY = 64  # rows from which on a column of one value is written as such
_LARGE_BYTES = 1 << 18  # from which on memory for a payload is asked for at once
_ROOT = ("#stamp", "#place", "#sequence")


def seal(block: Block) -> pa.Buffer:
    """The bytes of a block; its position travels as extra columns, its punctuations as a second stream behind it."""
    batches = [_batch([sent(column) for column in block.columns], list(block.schema.names), block.position)]
    marks = block.punctuations
    if marks is not None:
        columns = [pa.array(marks.offsets), pa.array(marks.identities)]
        batches.append(_batch(columns, ["offset", "identity"], marks.position))
    return _written(batches)


def unseal(payload: pa.Buffer, schema: pa.Schema) -> Block:
    """The block that was sealed, over the payload's own memory."""
    source = pa.BufferReader(payload)
    batch = _read(source)
    columns = tuple(with_own_words(column_of(batch.column(i), field.type)) for i, field in enumerate(schema))
    block = Block(schema, columns, batch.num_rows, position_of(batch, len(schema)))
    if source.tell() < source.size():
        marks = _read(source)
        offsets, identities = (marks.column(i).to_numpy() for i in range(2))
        block.punctuations = Punctuations(offsets, identities, position_of(marks, 2))
    return block


def sent(column: Column) -> pa.Array:
    """A column as it is written: `column_of` reads it, given the attribute's type."""
    if isinstance(column, WordColumn):
        return column.to_wire()
    found = column.to_arrow()
    if isinstance(column, FixedColumn) and column.valid is None and column.values.dtype == np.int64:
        return _shortened(found, column.values)
    return found


def _batch(arrays: list[pa.Array], names: list[str], position: Position | None) -> pa.RecordBatch:
    if position is not None:
        arrays = [*arrays, *(_shortened(own, own.to_numpy()) for own in position_columns(position))]
        names = [*names, *position_names(position)]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _written(batches: list[pa.RecordBatch]) -> pa.Buffer:
    """The batches as streams, one behind the other.

    A sink that grows copies large ones again and again: 20 ns a row of seven columns (100,000 rows), 2 where its size
    is known first, which takes 6 us.
    """
    if sum(batch.nbytes for batch in batches) < _LARGE_BYTES:
        sink = pa.BufferOutputStream()
        _write(sink, batches)
        return sink.getvalue()
    size = pa.MockOutputStream()
    _write(size, batches)
    buffer = pa.allocate_buffer(size.size())
    _write(pa.FixedSizeBufferWriter(buffer), batches)
    return buffer


def _write(sink: pa.NativeFile, batches: list[pa.RecordBatch]) -> None:
    for batch in batches:
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)


def _read(source: pa.BufferReader) -> pa.RecordBatch:
    with pa.ipc.open_stream(source) as reader:
        batch = reader.read_next_batch()
        for _ in reader:  # up to the end of the stream, where the next one may begin
            pass
    return batch


def position_names(position: Position) -> list[str]:
    """The names of the columns in which positions travel."""
    return [*_ROOT, *(f"#level{i}" for i in range(len(position.levels)))]


def position_columns(position: Position) -> list[pa.Array]:
    """The columns themselves."""
    return [pa.array(own) for own in (position.stamp, position.place, position.sequence, *position.levels)]


def position_of(batch: pa.RecordBatch, first: int) -> Position | None:
    """The positions in the columns of a batch from a place on, None where there are no more columns."""
    if batch.num_columns == first:
        return None
    stamp, place, sequence, *levels = [_values(batch.column(i)) for i in range(first, batch.num_columns)]
    depth = np.vstack(levels) if levels else np.empty((0, batch.num_rows), np.int64)
    return Position(stamp, place, sequence, depth)


def _shortened(column: pa.Array, values: Array) -> pa.Array:
    """A column of one value as a byte a row: tuples of a source share its place, ticks nearly all that they say."""
    if len(values) < _MANY or values[0] != values[-1] or (values != values[0]).any():
        return column
    return pa.DictionaryArray.from_arrays(np.zeros(len(values), np.int8), column.slice(0, 1))


def _values(column: pa.Array) -> Array:
    if pa.types.is_dictionary(column.type):
        return np.full(len(column), column.dictionary[0].as_py(), column.type.value_type.to_pandas_dtype())
    found = column_of(column)
    assert isinstance(found, FixedColumn)
    return found.values
