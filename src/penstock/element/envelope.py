"""Envelopes: blocks as bytes, on their way from one element to another.

The bytes depend on the tuples alone, so that a task that runs again writes the same ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.element.block import Block
from penstock.element.column import FixedColumn, column_of
from penstock.element.position import Position

_ROOT = ("#stamp", "#place", "#sequence")


def seal(block: Block) -> pa.Buffer:
    """The bytes of a block; its position travels as extra columns."""
    arrays = [column.to_arrow() for column in block.columns]
    names = list(block.schema.names)
    if block.position is not None:
        position = block.position
        arrays += [pa.array(a) for a in (position.stamp, position.place, position.sequence, *position.levels)]
        names += [*_ROOT, *(f"#level{i}" for i in range(len(position.levels)))]
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def unseal(payload: pa.Buffer, schema: pa.Schema) -> Block:
    """The block that was sealed, over the payload's own memory."""
    with pa.ipc.open_stream(payload) as reader:
        batch = reader.read_next_batch()
    columns = tuple(column_of(batch.column(i), field.type) for i, field in enumerate(schema))
    return Block(schema, columns, batch.num_rows, _position(batch, len(schema)))


def _position(batch: pa.RecordBatch, first: int) -> Position | None:
    if batch.num_columns == first:
        return None
    columns = [column_of(batch.column(i)) for i in range(first, batch.num_columns)]
    stamp, place, sequence, *levels = [c.values for c in columns if isinstance(c, FixedColumn)]
    depth = np.vstack(levels) if levels else np.empty((0, batch.num_rows), np.int64)
    return Position(stamp, place, sequence, depth)
