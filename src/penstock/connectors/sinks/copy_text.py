"""Tuples as the text that PostgreSQL's COPY reads (format csv), and the column types that go with them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import csv

from penstock.connectors.sinks.plain_types import plain_table

_TYPES = {
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.decimal128(20, 0): "numeric(20)",
    pa.timestamp("us", "UTC"): "timestamptz",
}


def column_type(type_: pa.DataType) -> str:
    """PostgreSQL's name of a plain type.

    >>> column_type(pa.list_(pa.string()))
    'text[]'
    """
    return column_type(type_.value_type) + "[]" if pa.types.is_list(type_) else _TYPES[type_]


def copy_text(batch: pa.RecordBatch) -> bytes:
    """A batch's rows as lines; null is an empty field without quotes, lists are texts of arrays.

    >>> copy_text(pa.record_batch({"x": [1, None], "s": ["a", ""]}))
    b'1,"a"\\n,""\\n'
    """
    table = plain_table(pa.Table.from_batches([batch]))
    for i, own in enumerate(table.schema):
        if pa.types.is_list(own.type):
            texts = [None if value is None else _array_text(value) for value in table.column(i).to_pylist()]
            table = table.set_column(i, own.name, pa.array(texts, pa.string()))
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(include_header=False))
    text: bytes = sink.getvalue().to_pybytes()
    return text


def _array_text(values: list[Any]) -> str:
    """
    >>> _array_text(["a", None, 'b"'])
    '{"a",NULL,"b\\\\""}'
    """
    return "{" + ",".join(map(_element_text, values)) + "}"


def _element_text(value: Any) -> str:
    if isinstance(value, list):
        return _array_text(value)
    if value is None:
        return "NULL"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
