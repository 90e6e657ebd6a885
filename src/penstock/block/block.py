"""A block: the unit of work inside an element, some tuples of one stream as columns, in order."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.block.column import Array, Column, column_of, concat, empty_column
from penstock.block.position import Position, concat_positions
from penstock.block.punctuation import Punctuations, concat_punctuations


class Block:
    """Tuples of one stream; `position` is None where nothing downstream merges streams."""

    __slots__ = ("columns", "position", "punctuations", "rows", "schema")

    def __init__(
        self,
        schema: pa.Schema,
        columns: tuple[Column, ...],
        rows: int,
        position: Position | None = None,
        punctuations: Punctuations | None = None,
    ) -> None:
        self.schema, self.columns, self.rows = schema, columns, rows
        self.position, self.punctuations = position, punctuations

    def column(self, name: str) -> Column:
        place: int = self.schema.get_field_index(name)
        return self.columns[place]

    def take(self, rows: Array) -> Block:
        """The given rows; punctuations do not come along."""
        position = None if self.position is None else self.position.take(rows)
        return Block(self.schema, tuple(c.take(rows) for c in self.columns), len(rows), position)

    def slice(self, start: int, stop: int) -> Block:
        """Rows start..stop; punctuations do not come along."""
        position = None if self.position is None else self.position.slice(start, stop)
        return Block(self.schema, tuple(c.slice(start, stop) for c in self.columns), stop - start, position)

    def unmarked(self) -> Block:
        """The same tuples without punctuations."""
        if self.punctuations is None:
            return self
        return Block(self.schema, self.columns, self.rows, self.position)

    def to_arrow(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([c.to_arrow() for c in self.columns], schema=self.schema)


def block_of(batch: pa.RecordBatch | pa.Table, schema: pa.Schema, position: Position | None = None) -> Block:
    """The block over an Arrow batch, its columns found by name and cast to `schema` where they differ."""
    columns = tuple(column_of(batch.column(field.name), field.type) for field in schema)
    return Block(schema, columns, batch.num_rows, position)


def empty_block(schema: pa.Schema) -> Block:
    return Block(schema, tuple(empty_column(field.type) for field in schema), 0)


def concat_blocks(blocks: Sequence[Block]) -> Block:
    """One block of several of the same stream, in order."""
    if len(blocks) == 1:
        return blocks[0]
    first = blocks[0]
    columns = tuple(concat([b.columns[i] for b in blocks]) for i in range(len(first.columns)))
    rows = sum(b.rows for b in blocks)
    return Block(first.schema, columns, rows, concat_positions(blocks), concat_punctuations(blocks))
