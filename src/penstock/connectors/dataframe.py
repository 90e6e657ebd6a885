"""A streaming DataFrame as a source, and its schema in our types; it is asked, so that this needs no pyspark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.block.schema import type_of
from penstock.connectors.frames import FrameSource
from penstock.connectors.port import SourceSpec
from penstock.errors import InputError, did_you_mean

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


@dataclass(frozen=True, slots=True)
class DataFrameSource(FrameSource):
    """Rows of a streaming DataFrame, which lives in the driver alone: a stored application has none."""

    frame: Any = field(default=None, compare=False, metadata={"stored": False})

    @property
    def schema(self) -> pa.Schema:
        """Its columns; none where what was given is no DataFrame, which `problems` says."""
        return schema_of_dataframe(self.frame) if self._is_frame else pa.schema([])

    @property
    def promise(self) -> str:
        return "That of its Spark source: the checkpoint has the offsets of each micro-batch."

    @property
    def session(self) -> Any:
        return None if self.frame is None else self.frame.sparkSession

    @property
    def _is_frame(self) -> bool:
        return hasattr(self.frame, "isStreaming") and hasattr(self.frame, "schema")

    def problems(self, source: SourceSpec) -> Sequence[str]:
        if not self._is_frame:
            return [f"needs a streaming DataFrame in ps.sources.dataframe(...); got {self.frame!r}"]
        if not self.frame.isStreaming:
            return ["needs a streaming DataFrame (spark.readStream...); got one that is not; "
                    "for finite data use ps.evaluate(app, {name: frame.toArrow()})"]  # fmt: skip
        names = list(self.frame.columns)
        return [_not_there(name, names) for name in source.schema.names if name not in names]

    def streaming_frame(self, session: Any) -> Any:
        """The user's own, which is of this session; None where it was lost on the way through a file."""
        return self.frame

    def __reduce__(self) -> tuple[object, ...]:
        return DataFrameSource, ()


def _not_there(name: str, names: Sequence[str]) -> str:
    hint = did_you_mean(name, names)
    has = f"reads {name!r} in its schema, which its input does not have; it has: {', '.join(names)}"
    return f"{has}; {hint}" if hint else has


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
