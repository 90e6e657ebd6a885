"""What a function gave, as rows of the output; what does not fit its schema is refused, never filled up with nulls."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.element.operators.python_functions import dicts_of
from penstock.spark.elastic.row_keys import RowKeys


class Output:
    """Rows in `schema`.  With `error_column` its columns are all nullable, since a failed call has only its error."""

    def __init__(self, schema: pa.Schema, *, per_tuple: bool, error_column: str | None) -> None:
        self._fields, self._per_tuple, self._has_errors = schema, per_tuple, error_column is not None
        self._keys, self._kinds = RowKeys(schema), [(field.name, field.type) for field in schema]
        self._required = [number for number, field in enumerate(schema) if not field.nullable]
        self.schema = schema
        if error_column is not None:
            self.schema = pa.schema(
                [*(field.with_nullable(True) for field in schema), pa.field(error_column, pa.string())]
            )

    def given(self, result: Any) -> pa.RecordBatch:
        """Dicts of a tuple, or columns of a block."""
        columns = self._of_dicts(result) if self._per_tuple else self._of_columns(result)
        for number in self._required:
            if columns[number].null_count:
                name = self._fields[number].name
                raise ValueError(f"must return no null for '{name}', which the schema says is not null")
        if self._has_errors:
            columns.append(pa.nulls(len(columns[0]), pa.string()))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def failed(self, rows: int, error: str) -> pa.RecordBatch:
        """What a failed call gives where errors go into a column."""
        columns = [pa.nulls(rows, field.type) for field in self._fields]
        return pa.RecordBatch.from_arrays([*columns, pa.array([error] * rows, pa.string())], schema=self.schema)

    def _of_dicts(self, result: Any) -> list[pa.Array]:
        rows = dicts_of(result)
        for row in rows:
            self._keys.check(row)
        return [pa.array([row.get(name) for row in rows], kind) for name, kind in self._kinds]

    def _of_columns(self, result: Any) -> list[pa.Array]:
        table = pa.table(result) if isinstance(result, dict) else result
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if not isinstance(table, pa.Table):
            kind = type(result).__name__
            raise TypeError(f"must return an Arrow record batch, a table or a dict of columns; got {kind}")
        for name in self._fields.names:
            if name not in table.column_names:
                names = ", ".join(table.column_names)
                raise ValueError(f"must return all columns of the schema; '{name}' is missing; got: {names}")
        cast = pa.table([table.column(field.name).cast(field.type) for field in self._fields], schema=self._fields)
        batches = cast.combine_chunks().to_batches()
        return batches[0].columns if batches else [pa.array([], kind) for _, kind in self._kinds]
