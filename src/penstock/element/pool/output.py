"""What a function gave, as rows of the output; what does not fit its schema is refused, never filled up with nulls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.block.value_checks import StructCheck, check_of
from penstock.element.pool.column_checks import check_finite, check_names, check_nulls, has_required
from penstock.operators.python_functions import dicts_of

INPUT = "input"
Row = dict[Any, Any]  # the output's values by column, without those that are null


class Output:
    """Rows in `schema`.  With `error_column` its columns are all nullable, since a failed call has only its error.

    With `input_type`, the struct of the input's columns, it has its input, too.
    """

    def __init__(
        self, schema: pa.Schema, *, error_column: str | None = None, input_type: pa.DataType | None = None
    ) -> None:
        self._fields, self._error_column, self._input_type = schema, error_column, input_type
        self._check = StructCheck(schema)
        self._required = [number for number, field in enumerate(schema) if has_required(field)]
        self.schema = schema
        if error_column is not None:
            added = [pa.field(error_column, pa.string())]
            if input_type is not None:
                added.append(pa.field(INPUT, input_type))
            self.schema = pa.schema([*(field.with_nullable(True) for field in schema), *added])

    def rows(self, result: Any) -> list[Row]:
        """The rows that a tuple's call gave, copied: a function may use its dict again."""
        rows = dicts_of(result)
        for row in rows:
            self._check(row)
        return [dict(row) for row in rows]

    def failed_row(self, batch: pa.RecordBatch, number: int, error: str) -> Row:
        """The row for the tuple of that number in a batch, whose call failed."""
        return {self._error_column: error, INPUT: batch.slice(number, 1)}

    def of_rows(self, rows: Sequence[Row]) -> pa.RecordBatch:
        """Rows all at once, since that is many times as fast as each alone."""
        columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in self._fields]
        if self._error_column is None:
            self._check_nulls(columns)
            return pa.RecordBatch.from_arrays(columns, schema=self.schema)
        errors = pa.array([row.get(self._error_column) for row in rows], pa.string())
        self._check_nulls([column.filter(errors.is_null()) for column in columns] if self._required else columns)
        columns.append(errors)
        if self._input_type is not None:
            columns.append(self._inputs([row[INPUT] if self._error_column in row else None for row in rows]))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def block(self, result: Any) -> pa.RecordBatch:
        """The columns that a block's call gave."""
        columns = block_columns(result, self._fields)
        self._check_nulls(columns)
        added = [pa.nulls(len(columns[0]), field.type) for field in list(self.schema)[len(columns) :]]
        return pa.RecordBatch.from_arrays([*columns, *added], schema=self.schema)

    def failed_block(self, batch: pa.RecordBatch, error: str) -> pa.RecordBatch:
        """The rows of a block whose call failed."""
        rows = batch.num_rows
        columns = [pa.nulls(rows, field.type) for field in self._fields]
        columns.append(pa.array([error] * rows, pa.string()))
        if self._input_type is not None:
            columns.append(batch.to_struct_array().cast(self._input_type))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _inputs(self, batches: Sequence[pa.RecordBatch | None]) -> pa.Array:
        """Structs of the batches of one row each; null where there is none."""
        inputs = [batch.to_struct_array().cast(self._input_type) for batch in batches if batch is not None]
        if not inputs:
            return pa.nulls(len(batches), self._input_type)
        place = itertools.count()
        taken = pa.array([None if batch is None else next(place) for batch in batches], pa.int64())
        return pa.concat_arrays(inputs).take(taken)

    def _check_nulls(self, columns: Sequence[pa.Array]) -> None:
        for number in self._required:
            field = self._fields[number]
            check_nulls(columns[number], field, field.name)


def block_columns(result: Any, schema: pa.Schema) -> list[pa.Array]:
    """Of a record batch, a table or a dict; cast where no value is lost by it."""
    given = result
    if isinstance(result, pa.RecordBatch | pa.Table):
        given = {name: result.column(name) for name in result.schema.names if name in schema.names}
    elif not isinstance(result, dict):
        kind = type(result).__name__
        raise TypeError(f"must return an Arrow record batch, a table or a dict of columns; got {kind}")
    for name in schema.names:
        if name not in given:
            names = ", ".join(map(str, result if isinstance(result, dict) else result.schema.names))
            raise ValueError(f"must return all columns of the schema; '{name}' is missing; got: {names}")
    table = pa.table([_column(given[field.name], field) for field in schema], schema=schema)
    batches = table.combine_chunks().to_batches()
    return list(batches[0].columns) if batches else [pa.array([], field.type) for field in schema]


def _column(values: Any, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    """Python's nested values are made in the schema's type: of dicts alone Arrow makes no maps."""
    if isinstance(values, str | bytes):
        raise TypeError(f"must return a list or an array for '{field.name}'; got {type(values).__name__}")
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        if pa.types.is_nested(field.type):
            return _nested(list(values), field)
        values = pa.array(values)
    check_names(values.type, field.type, field.name)
    cast = values if values.type == field.type else values.cast(field.type)
    check_finite(values, cast, field.name)
    return cast


def _nested(values: list[Any], field: pa.Field) -> pa.Array:
    check = check_of(field.type, field.name)
    for value in values:
        if check is not None and value is not None:
            check(value)
    return pa.array(values, field.type)
