"""The columns that a function gave for a block, in the types of the schema."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.block.value_checks import check_of
from penstock.element.pool.column_checks import check_finite, check_names


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
