"""The schema of a PySpark DataFrame in our types; it is asked, never imported, so that this needs no pyspark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.app.schema import type_of
from penstock.errors import InputError

_WORD_BY_TYPE = {
    "string": "string",
    "char": "string",
    "varchar": "string",
    "boolean": "bool",
    "byte": "int8",
    "short": "int16",
    "integer": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
}


def schema_of_dataframe(frame: Any) -> pa.Schema:
    """Names and types of a DataFrame's columns; one sentence for all columns of types that streams do not have."""
    fields, lacking = [], []
    for column in frame.schema.fields:
        word = _word(column.dataType)
        if word is None:
            lacking.append(f"'{column.name}' ({column.dataType.simpleString()})")
        else:
            fields.append(pa.field(column.name, type_of(word), column.nullable))
    if lacking:
        raise InputError(f"the DataFrame has columns of types that a stream does not have: {', '.join(lacking)}; "
                         "cast them (a decimal to double, a date to timestamp), or leave them out")  # fmt: skip
    return pa.schema(fields)


def _word(type_: Any) -> str | None:
    name = type_.typeName()
    if name == "array":
        inner = _word(type_.elementType)
        return None if inner is None else f"list<{inner}>"
    return _WORD_BY_TYPE.get(name)
