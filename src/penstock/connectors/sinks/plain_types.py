"""Columns in types that other systems have: no coded strings, no numbers without a sign, moments in UTC."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.block.schema import TIMESTAMP

_PLAIN = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    TIMESTAMP: pa.timestamp("us", "UTC"),
}
_SQL = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.decimal128(20, 0): "decimal(20,0)",
    pa.timestamp("us", "UTC"): "timestamp_ltz",
    pa.string(): "string",
}


def plain_type(type_: pa.DataType) -> pa.DataType:
    """Coded strings as strings, moments as UTC, numbers without a sign in the next wider type that has one."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_list(type_):
        return pa.list_(plain_type(type_.value_type))
    return _PLAIN.get(type_, type_)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema in plain types; every attribute may be null."""
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema])


def sql_type(type_: pa.DataType) -> str:
    """What Spark calls a plain type.

    >>> sql_type(pa.list_(pa.int64()))
    'array<bigint>'
    """
    return f"array<{sql_type(type_.value_type)}>" if pa.types.is_list(type_) else _SQL[type_]


def plain_table(table: pa.Table) -> pa.Table:
    """The table in plain types."""
    schema = plain_schema(table.schema)
    columns = [_plain(table.column(i), field.type) for i, field in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)


def _plain(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == wanted else pc.cast(column, wanted)
