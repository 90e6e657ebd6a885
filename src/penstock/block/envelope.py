"""Envelopes: blocks as bytes, on their way from one element to another.

The bytes depend on the tuples alone, so that a task that runs again writes the same ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.block.block import Block
from penstock.block.column import FixedColumn, column_of
from penstock.block.position import Position
from penstock.block.punctuation import Punctuations

_ROOT = ("#stamp", "#place", "#sequence")


def seal(block: Block) -> pa.Buffer:
    """The bytes of a block; its position travels as extra columns, its punctuations as a second stream behind it."""
    sink = pa.BufferOutputStream()
    _write(sink, [column.to_arrow() for column in block.columns], list(block.schema.names), block.position)
    marks = block.punctuations
    if marks is not None:
        _write(sink, [pa.array(marks.offsets), pa.array(marks.identities)], ["offset", "identity"], marks.position)
    return sink.getvalue()


def unseal(payload: pa.Buffer, schema: pa.Schema) -> Block:
    """The block that was sealed, over the payload's own memory."""
    source = pa.BufferReader(payload)
    batch = _read(source)
    columns = tuple(column_of(batch.column(i), field.type) for i, field in enumerate(schema))
    block = Block(schema, columns, batch.num_rows, position_of(batch, len(schema)))
    if source.tell() < source.size():
        marks = _read(source)
        offsets, identities = (marks.column(i).to_numpy() for i in range(2))
        block.punctuations = Punctuations(offsets, identities, position_of(marks, 2))
    return block


def _write(sink: pa.BufferOutputStream, arrays: list[pa.Array], names: list[str], position: Position | None) -> None:
    if position is not None:
        arrays = [*arrays, *map(pa.array, (position.stamp, position.place, position.sequence, *position.levels))]
        names = [*names, *position_names(position)]
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
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


def position_of(batch: pa.RecordBatch, first: int) -> Position | None:
    """The positions in the columns of a batch from a place on, None where there are no more columns."""
    if batch.num_columns == first:
        return None
    columns = [column_of(batch.column(i)) for i in range(first, batch.num_columns)]
    stamp, place, sequence, *levels = [c.values for c in columns if isinstance(c, FixedColumn)]
    depth = np.vstack(levels) if levels else np.empty((0, batch.num_rows), np.int64)
    return Position(stamp, place, sequence, depth)
