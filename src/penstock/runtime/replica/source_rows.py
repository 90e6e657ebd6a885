"""The rows in which sources come to the first element: ranges of offsets, or blocks where there are no offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from penstock.app.operators import Source
from penstock.block.dead_letters import DeadLetters
from penstock.block.envelope import seal
from penstock.connectors.row_checks import fitted

SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("payload", pa.binary()),  # a sealed block, of sources that are not known by offsets
        ("frontier", pa.binary()),  # how far the batch goes in the total order, of merged sources
    ]
)
SQL = "source string, start long, stop long, payload binary, frontier binary"
LETTERS = -1  # the start of a row whose payload is a table of dead letters
BLOCK_ROWS = 32_768
_PLACE_BITS = 40


def first_of(place: int) -> int:
    """The number of the first row of a partition or file; rows of one go before all of the next."""
    return place << _PLACE_BITS


def packed(
    batches: Iterable[pa.RecordBatch], source: Source, first: int, letters: DeadLetters
) -> Iterator[pa.RecordBatch]:
    """A row per block, numbered from `first` on."""
    for batch in batches:
        block = fitted(batch, source, letters)
        if block.rows:
            yield _row(source.name, first, first + block.rows, seal(block))
            first += block.rows


def letters_row(source: str, letters: DeadLetters) -> Iterator[pa.RecordBatch]:
    """One row with all dead letters so far, if there are any."""
    if len(letters):
        table = letters.drain()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        yield _row(source, LETTERS, LETTERS, sink.getvalue())


def _row(source: str, start: int, stop: int, payload: pa.Buffer) -> pa.RecordBatch:
    """One row over the payload's own memory."""
    offsets = pa.array([0, payload.size], pa.int32()).buffers()[1]
    columns = [
        pa.array([source], pa.string()),
        pa.array([start], pa.int64()),
        pa.array([stop], pa.int64()),
        pa.Array.from_buffers(pa.binary(), 1, [None, offsets, payload]),
        pa.nulls(1, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
