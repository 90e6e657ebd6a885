"""Messages as columns: JSON, Avro, Arrow or text; what cannot be decoded becomes a dead letter by itself."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.json as pa_json

from penstock.block.schema import word_of
from penstock.connectors.planned.source_port import Reading
from penstock.connectors.planned.zeros import zeros
from penstock.connectors.row_checks import converts
from penstock.errors import InputError

FORMATS = ("json", "avro", "arrow", "raw")
VALUE = "value"  # the attribute that has the text of a message of format raw
_SHOWN_BYTES = 200
_EXACT = 2.0**53  # up to here a float says which integer it is
_NEWLINE = b"\n"
_LINE_END, _OPENS, _CLOSES = b"\n{}"
_STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"
_REGISTRY_BYTES = 5  # a zero and the number of the schema, in front of what a schema registry's clients write

Decoded = tuple[pa.Table, Sequence[int] | npt.NDArray[np.int64]]  # the tuples, and the message of each
_Piece: TypeAlias = pa.Table | pa.RecordBatch
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
        return _arrow(values, schema, reading, reject)
    return _row_by_row(values, schema, _raw_row if format_ == "raw" else _avro_row(avro_schema or ""), reject)


def _json(values: Sequence[bytes | None], schema: pa.Schema, reject: Reject) -> Decoded:
    """All messages by Arrow's parser at once; one that is something else is found by halves."""
    whole = _parsed(values, schema) if values else "nothing"
    if isinstance(whole, pa.Table):  # nearly always
        return whole, range(len(values))
    again = _with_whole_numbers(values, schema)
    if again != values:
        return _json(again, schema, reject)
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


def _with_whole_numbers(values: Sequence[bytes | None], schema: pa.Schema) -> Sequence[bytes | None]:
    """The messages with 7 in place of 7.0 where a whole number is wanted: JSON has one kind of number.

    Python and pandas write whole numbers so; Arrow's parser takes none of them for an integer.
    """
    names = [field.name for field in schema if pa.types.is_integer(field.type)]
    return [_with_integers(value, names) if value and names else value for value in values]


def _with_integers(value: bytes, names: Sequence[str]) -> bytes:
    try:
        row = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if not isinstance(row, dict):
        return value
    whole = {name: int(row[name]) for name in names if _is_whole(row.get(name))}
    return json.dumps(row | whole).encode() if whole else value


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT


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


def _arrow(values: Sequence[bytes | None], schema: pa.Schema, reading: Reading, reject: Reject) -> Decoded:
    """Each message is a stream of Arrow's IPC format with any number of tuples; attributes nobody reads are zeros."""
    pieces, places = list[_Piece](), list[int]()
    checked = _Checked(schema, reading)
    for place, value in enumerate(values):
        piece = checked.batch_like_the_last(value)
        if piece is None:
            try:
                if value is None:
                    raise InputError("it has no value")
                piece = checked.table(value)
            except (pa.ArrowException, OSError, EOFError, ValueError) as error:
                reject(place, f"has a message that cannot be decoded: {str(error)[:_SHOWN_BYTES]}")
                continue
        pieces.append(piece)
        places.append(place)
    if not pieces:
        return _empty(schema), []
    rows = [piece.num_rows for piece in pieces]
    return checked.together(pieces), np.repeat(places, rows)


class _Checked:
    """Schemas of messages against the source's: messages of types that do not fit cost only themselves.

    A hot path: messages of one producer begin with the same bytes, their schema.  Where those are the bytes of the last
    good schema, only the batch behind them is read: 3 us a message instead of 8 (five attributes, 1,000 tuples).  The
    simple version is `table`; tests hold both to be equal.
    """

    def __init__(self, schema: pa.Schema, reading: Reading) -> None:
        self._schema, self._unused = schema, reading.unused
        self._good: pa.Schema | None = None
        self._head = b""  # how streams of the good schema begin, as Arrow writes them on this machine

    def table(self, value: bytes) -> pa.Table:
        """The tuples of a message; raises where it is none, or none of this source."""
        stream = pa.ipc.open_stream(value)
        self._check(stream.schema)
        return stream.read_all()

    def batch_like_the_last(self, value: bytes | None) -> pa.RecordBatch | None:
        """The tuples of a message with one batch and the schema of a good one before it; None for any other."""
        if not self._head or value is None or not value.startswith(self._head):
            return None
        source = pa.BufferReader(value)
        source.seek(len(self._head))
        try:
            message = pa.ipc.read_message(source)
            is_whole = source.tell() == len(value) - len(_STREAM_END) and value.endswith(_STREAM_END)
            if message.type == "record batch" and is_whole:
                return pa.ipc.read_record_batch(message, self._good)
        except (pa.ArrowException, OSError, EOFError, ValueError):
            pass  # what is wrong with it is said by `table`
        return None

    def _check(self, given: pa.Schema) -> None:
        """InputError where an attribute is missing, is there twice, or is of another kind."""
        if self._good is not None and given.equals(self._good, check_metadata=True):
            return
        for field in self._schema:
            found = given.names.count(field.name)
            if found != 1:
                raise InputError(f"it has {'no' if not found else 'more than one'} attribute '{field.name}'")
            own = given.field(field.name).type
            if not converts(own, field.type):
                raise InputError(f"it has '{field.name}' as {own}, which is no {word_of(field.type)}")
        has_words = any(pa.types.is_dictionary(field.type) for field in given)  # in front of the first batch
        self._good, self._head = given, b"" if has_words else given.serialize().to_pybytes()

    def together(self, pieces: Sequence[_Piece]) -> pa.Table:
        """The tuples of all, in order; attributes that nobody reads are zeros."""
        chosen = [table.select(self._schema.names) for table in _tables(pieces)]
        try:
            whole = pa.concat_tables(chosen, promote_options="permissive")
        except pa.ArrowException:  # types of one kind that Arrow does not put together, as text and coded text
            whole = _concatenated([_plain_table(table, self._schema) for table in chosen])
        # A row that does not fit is reported with all of its attributes, so that all must be there.
        fits = all(_fits(column, field) for column, field in zip(whole.columns, self._schema, strict=True))
        left_out = [field for field in self._schema if fits and field.name in self._unused]
        whole = whole.drop_columns([field.name for field in left_out]).combine_chunks()
        for field in left_out:
            whole = whole.append_column(field, zeros(field.type, whole.num_rows))
        return whole


def _tables(pieces: Sequence[_Piece]) -> Iterator[pa.Table]:
    """All pieces in order, as tables; batches of one schema that come one after the other are one."""
    for schema, some in itertools.groupby(pieces, _batch_schema):
        if schema is None:
            yield from some
        else:
            yield pa.Table.from_batches(some, schema)


def _batch_schema(piece: _Piece) -> pa.Schema | None:
    return piece.schema if isinstance(piece, pa.RecordBatch) else None


def _concatenated(tables: Sequence[pa.Table]) -> pa.Table:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(f"messages of types that do not go together: {str(error)[:_SHOWN_BYTES]}") from None


def _plain_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with codes written out, and moments of the schema's unit and zone."""
    for place, field in enumerate(schema):
        wanted, given = _plain(field.type), table.schema.field(place).type
        if pa.types.is_dictionary(given) or (pa.types.is_timestamp(given) and given != wanted):
            own = wanted if pa.types.is_timestamp(given) else given.value_type
            table = table.set_column(place, field.name, table.column(place).cast(own, safe=False))
    return table


def _fits(column: pa.ChunkedArray, field: pa.Field) -> bool:
    """Whether every value fits its attribute, so that no row of it becomes a dead letter."""
    is_same = column.type in (field.type, _plain(field.type))
    return bool(is_same and not pa.types.is_nested(field.type) and (field.nullable or not column.null_count))
