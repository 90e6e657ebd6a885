"""Messages as columns: JSON, Avro, Arrow or text; what cannot be decoded becomes a dead letter by itself."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.json as pa_json

from penstock.connectors.planned.source_port import Reading

FORMATS = ("json", "avro", "arrow", "raw")
VALUE = "value"  # the attribute that has the text of a message of format raw
_SHOWN_BYTES = 200
_NEWLINE = b"\n"
_LINE_END, _OPENS, _CLOSES = b"\n{}"
_REGISTRY_BYTES = 5  # a zero and the number of the schema, in front of what a schema registry's clients write

Decoded = tuple[pa.Table, Sequence[int] | npt.NDArray[np.int64]]  # the tuples, and the message of each
Reject = Callable[[int, str], None]


def decode(
    values: Sequence[bytes | None], format_: str, avro_schema: str | None, schema: pa.Schema, reading: Reading,
    named: Callable[[int], Mapping[str, Any]],
) -> Decoded:  # fmt: skip
    """The tuples of some messages, of a schema; `named` says which message one is, for dead letters."""

    def reject(place: int, reason: str) -> None:
        value = values[place]
        text = None if value is None else value[:_SHOWN_BYTES].decode(errors="replace")
        reading.reject(reason, {**named(place), "value": text})

    if format_ == "json":
        return _json(values, schema, reject)
    if format_ == "arrow":
        return _arrow(values, schema, reject)
    return _row_by_row(values, schema, _raw_row if format_ == "raw" else _avro_row(avro_schema or ""), reject)


def _json(values: Sequence[bytes | None], schema: pa.Schema, reject: Reject) -> Decoded:
    """All messages by Arrow's parser at once; one that is something else is found by halves."""
    whole = _parsed(values, schema) if values else "nothing"
    if isinstance(whole, pa.Table):  # nearly always
        return whole, range(len(values))
    tables, places, left = list[pa.Table](), list[int](), [(0, len(values))]
    while left:
        begin, end = left.pop()
        parsed = _parsed(values[begin:end], schema) if end > begin else "nothing"
        if isinstance(parsed, pa.Table):
            tables.append(parsed)
            places += range(begin, end)
        elif end - begin == 1:
            reject(begin, f"has a message that cannot be decoded: {parsed}")
        elif end > begin:
            middle = (begin + end) // 2
            left += [(middle, end), (begin, middle)]
    return (pa.concat_tables(tables).combine_chunks(), places) if tables else (_empty(schema), [])


def _parsed(values: Sequence[bytes | None], schema: pa.Schema) -> pa.Table | str:
    """A row for each message, or why there is none."""
    if not all(values):
        return "it is empty"
    text = _NEWLINE.join(values)  # type: ignore[arg-type]
    if not _is_line_by_line(text, len(values)):  # a line end in JSON stands between values alone, where a blank may
        text = _NEWLINE.join([value.replace(_NEWLINE, b" ").strip() for value in values])  # type: ignore[union-attr]
        if not _is_line_by_line(text, len(values)):
            return "it is not one JSON object"
    plain = pa.schema([pa.field(own.name, _plain(own.type)) for own in schema])
    parsing = pa_json.ParseOptions(explicit_schema=plain, unexpected_field_behavior="ignore")
    reading = pa_json.ReadOptions(use_threads=False, block_size=max(len(text) + 1, 1 << 20))
    try:
        table = pa_json.read_json(pa.BufferReader(text), read_options=reading, parse_options=parsing)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        return str(error)[:_SHOWN_BYTES]
    return table if table.num_rows == len(values) else "it is not one JSON object"


def _is_line_by_line(text: bytes, lines: int) -> bool:
    """Whether each line begins and ends as an object does; else two bad messages could pass for two good ones.

    An object that begins where another is not complete is an error to every parser, so that each line has at least one.
    """
    if text[:1] != b"{" or text[-1:] != b"}" or text.count(_NEWLINE) != lines - 1:
        return False
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(letters == _LINE_END)
    return bool((letters[ends - 1] == _CLOSES).all() and (letters[ends + 1] == _OPENS).all())


def _empty(schema: pa.Schema) -> pa.Table:
    return pa.table({own.name: pa.array([], _plain(own.type)) for own in schema})


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _row_by_row(
    values: Sequence[bytes | None],
    schema: pa.Schema,
    one: Callable[[bytes], Mapping[str, Any]],
    reject: Reject,
) -> Decoded:
    rows, places = list[dict[str, Any]](), list[int]()
    for place, value in enumerate(values):
        if value is None:
            reject(place, "has a message without a value")
            continue
        try:
            row = one(value)
            own = {name: row.get(name) for name in schema.names}
            for field in schema:
                pa.array([own[field.name]], _plain(field.type))  # raises where the value is of another type
        except Exception as error:  # whatever a decoder says of a message that is something else
            reject(place, f"has a message that cannot be decoded: {str(error)[:_SHOWN_BYTES] or type(error).__name__}")
            continue
        rows.append(own)
        places.append(place)
    plain = pa.schema([pa.field(own.name, _plain(own.type)) for own in schema])
    return pa.Table.from_pylist(rows, plain), places


def _raw_row(value: bytes) -> Mapping[str, Any]:
    return {VALUE: value.decode()}


@lru_cache(maxsize=16)
def _avro_row(text: str) -> Callable[[bytes], Mapping[str, Any]]:
    import fastavro

    schema = fastavro.parse_schema(json.loads(text))

    def read(value: bytes) -> Mapping[str, Any]:
        body = io.BytesIO(value[_REGISTRY_BYTES:] if value[:1] == b"\0" and len(value) > _REGISTRY_BYTES else value)
        try:
            row: Any = fastavro.schemaless_reader(body, schema, None)
        except Exception:
            row = fastavro.schemaless_reader(io.BytesIO(value), schema, None)
        return row  # type: ignore[no-any-return]

    return read


def _arrow(values: Sequence[bytes | None], schema: pa.Schema, reject: Reject) -> Decoded:
    """Each message is a stream of Arrow's IPC format with any number of tuples."""
    tables, places, rows = list[pa.Table](), list[int](), list[int]()
    for place, value in enumerate(values):
        try:
            if value is None:
                raise ValueError("it has no value")
            own = pa.ipc.open_stream(value).read_all().select(schema.names)
        except (pa.ArrowException, KeyError, ValueError) as error:
            reject(place, f"has a message that cannot be decoded: {str(error)[:_SHOWN_BYTES]}")
            continue
        tables.append(own)
        places.append(place)
        rows.append(own.num_rows)
    if not tables:
        return _empty(schema), []
    whole = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    return whole, np.repeat(places, rows)
