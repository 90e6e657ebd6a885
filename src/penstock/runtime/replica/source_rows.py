"""The rows in which sources come to the first element: ranges of offsets, splits, or blocks where there is no plan."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pyarrow as pa

from penstock.app.operators import Source
from penstock.block.dead_letters import DeadLetters
from penstock.block.envelope import seal
from penstock.connectors.planned.row_numbers import WIDE_BITS, check_in_place, first_of
from penstock.connectors.planned.source_port import Split
from penstock.connectors.row_checks import fitted
from penstock.plan.elements.source_partitions import has_partitions

SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("payload", pa.binary()),  # a sealed block of a DataFrame, or a split
        ("frontier", pa.binary()),  # how far the batch goes in the total order, of merged sources
    ]
)
SQL = "source string, start long, stop long, payload binary, frontier binary"
LETTERS = -1  # the start of a row whose payload is a table of dead letters
BLOCK_ROWS = 32_768
SPLIT = -2  # the start of a row whose payload is a split of a planned source
SHARES = -4  # the start of a row before the splits of all tasks, which choose among them; its stop is their number
RAW = -3  # the start of a row whose payload is an Arrow batch of a DataFrame, as Spark has it
LETTERS_AT_ONCE = 4096


def partition_of(source: Source, start: int) -> int:
    """The partition of a row of a source, by the number of the row.

    Offsets, and files in the order of their log, are one partition, however many tasks read them.
    """
    return start >> WIDE_BITS if has_partitions(source) else 0


def packed(
    batches: Iterable[pa.RecordBatch], source: Source, place: int, letters: DeadLetters, first_row: int = 0
) -> Iterator[pa.RecordBatch]:
    """A row per block of a partition or file, numbered from `first_row` of that place on."""
    first = first_of(place) + first_row
    for batch in batches:
        block = fitted(batch, source, letters)
        if block.rows:
            check_in_place(first, block.rows, source.name)
            yield _row(source.name, first, first + block.rows, seal(block))
            first += block.rows
        if len(letters) >= LETTERS_AT_ONCE:
            yield from letters_row(source.name, letters)


def letters_row(source: str, letters: DeadLetters) -> Iterator[pa.RecordBatch]:
    """All dead letters so far, if there are any, some thousands in a row."""
    for batch in letters.drain().to_batches(LETTERS_AT_ONCE) if len(letters) else ():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield _row(source, LETTERS, LETTERS, sink.getvalue())


def split_row(source: str, split: Split, arrived_s: float | None = None, share: int = SPLIT) -> pa.RecordBatch:
    """A row that has a task read a split, which arrived then; `share` is its share's number where tasks choose."""
    payload = json.dumps([*json.loads(split.to_json()), arrived_s]).encode()
    return _row(source, SPLIT, share, pa.py_buffer(payload))


def shares_row(shares: int) -> pa.RecordBatch:
    """The row before the splits of all shares, among which a task chooses one."""
    return _row("", SHARES, shares, pa.py_buffer(b""))


def split_of(payload: bytes) -> tuple[Split, float | None]:
    """The split of a row, and when it arrived where that is known."""
    part, first, tuples, partition, *arrived_s = json.loads(payload)
    return Split(part, first, tuples, partition), arrived_s[0] if arrived_s else None


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
