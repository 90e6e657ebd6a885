"""CSV files, or lines of one, as tables; rows that do not fit become dead letters."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from penstock.arguments import shown
from penstock.block.conversion import converted
from penstock.block.dead_letters import DeadLetters
from penstock.block.schema import word_of
from penstock.connectors.files.whole_files import unreadable
from penstock.connectors.port import SourceSpec
from penstock.errors import InputError

_MOST_SHOWN = 500  # characters


class CsvFormat(Protocol):
    """How a file is written; `connectors.csv.CsvSource` is one."""

    @property
    def header(self) -> bool: ...

    @property
    def columns(self) -> tuple[int, ...] | None: ...


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a file: all of them, or those between two places (bytes) at line ends."""

    path: Path
    begin: int = 0
    end: int | None = None

    def bytes(self) -> pa.Buffer:
        with self.path.open("rb") as file:
            file.seek(self.begin)
            return pa.py_buffer(file.read() if self.end is None else file.read(self.end - self.begin))


def read_csv(given: Lines, form: CsvFormat, source: SourceSpec, letters: DeadLetters) -> pa.Table:
    """The rows of lines that convert, in the schema's types.

    All fields are parsed in their types at once where that gives the same; else every field is read as text first, then
    converted, so that one bad row costs only itself.
    """
    names = _field_names(given.path, form, source)
    try:
        data = given.bytes()
    except OSError as error:
        raise unreadable(source, given.path, "CSV", error) from error
    skip = 1 if form.header and not given.begin else 0
    if skip and not _has_line_end(data):
        return source.schema.empty_table()
    table = _typed(data, names, skip, source)
    return _by_text(given.path, data, names, skip, source, letters) if table is None else table


def _typed(data: pa.Buffer, names: list[str], skip: int, source: SourceSpec) -> pa.Table | None:
    """The rows, if all of them convert; None where one does not, or where types do not parse as texts convert.

    Arrow's parser of CSV takes numbers with blanks around them, which no text is.
    """
    if not all(map(_parses_as_text_converts, source.schema.types)) or _has_blanks(data):
        return None
    types = dict.fromkeys(names, pa.string()) | {field.name: field.type for field in source.schema}
    try:
        table = _parsed(data, names, skip, source, types, _refused)
    except pa.ArrowException:
        return None
    return table.cast(source.schema) if table.num_rows else None


def _parses_as_text_converts(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_string(type_)
        or pa.types.is_dictionary(type_)
    )  # fmt: skip


def _has_line_end(data: pa.Buffer) -> bool:
    """Whether anything can follow a header."""
    text = np.frombuffer(data, np.uint8)
    return bool((text == 10).any() or (text == 13).any())


def _has_blanks(data: pa.Buffer) -> bool:
    text = np.frombuffer(data, np.uint8)
    return bool(len(text)) and bool((text == 32).any() or (text == 9).any())


def _refused(row: pa.csv.InvalidRow) -> str:
    return "error"


def _by_text(
    path: Path, data: pa.Buffer, names: list[str], skip: int, source: SourceSpec, letters: DeadLetters
) -> pa.Table:
    lines = _text_fields(path, data, names, skip, source, letters)
    bad = np.zeros(lines.num_rows, np.bool_)
    columns = []
    for field in source.schema:
        text = lines.column(field.name)
        column = converted(text, field.type)
        wrong = np.asarray(pc.and_(pc.is_valid(text), pc.is_null(column))) & ~bad
        _report(lines, wrong, f"has no {word_of(field.type)} in '{field.name}'", source, letters)
        bad |= wrong
        columns.append(column)
    table = pa.table(columns, schema=source.schema)
    return table.filter(pa.array(~bad)) if bad.any() else table


def _report(lines: pa.Table, wrong: np.ndarray, reason: str, source: SourceSpec, letters: DeadLetters) -> None:
    for batch in lines.take(pa.array(np.flatnonzero(wrong))).combine_chunks().to_batches() if wrong.any() else ():
        letters.add_batch(source.name, reason, batch)


def _text_fields(
    path: Path, data: pa.Buffer, names: list[str], skip: int, source: SourceSpec, letters: DeadLetters
) -> pa.Table:
    torn: list[pa.csv.InvalidRow] = []  # raised afterwards, since Arrow prints what a handler raises and goes on

    def skipped(row: pa.csv.InvalidRow) -> str:
        torn.append(row)
        return "skip"

    try:
        lines = _parsed(data, names, skip, source, dict.fromkeys(names, pa.string()), skipped)
    except (pa.ArrowException, OSError) as error:
        if "Empty CSV" in str(error):
            return pa.schema([(name, pa.string()) for name in source.schema.names]).empty_table()
        raise unreadable(source, path, "CSV", error) from error
    for row in torn:
        reason = f"has {row.actual_columns} fields where its file has {row.expected_columns}"
        letters.add(source.name, reason, {"line": row.text})
    return lines


def _parsed(
    data: pa.Buffer,
    names: list[str],
    skip: int,
    source: SourceSpec,
    types: Mapping[str, pa.DataType],
    handler: Callable[[pa.csv.InvalidRow], str],
) -> pa.Table:
    convert = pa.csv.ConvertOptions(
        column_types=types, include_columns=source.schema.names,
        strings_can_be_null=True, null_values=[""], quoted_strings_can_be_null=False,
    )  # fmt: skip
    read = pa.csv.ReadOptions(column_names=names, skip_rows=skip)
    parse = pa.csv.ParseOptions(invalid_row_handler=handler)
    return pa.csv.read_csv(pa.BufferReader(data), read, parse, convert).combine_chunks()


def _shortened(names: list[str]) -> str:
    """What a file has instead of columns: any bytes, where it is no CSV."""
    text = ", ".join(names) or "none"
    return text if text.isprintable() and len(text) <= _MOST_SHOWN else shown(text)


def _field_names(path: Path, form: CsvFormat, source: SourceSpec) -> list[str]:
    """A name for every field of the file: the schema's where a field is read, else its number."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            first = next(csv.reader(file), [])
    except (csv.Error, OSError) as error:
        raise unreadable(source, path, "CSV", error) from error
    fields = len(first)
    if form.header and form.columns is None:
        missing = [name for name in source.schema.names if name not in first]
        if missing:
            raise InputError(f"source '{source.name}' needs the columns {', '.join(source.schema.names)}; {path} lacks "
                             f"{', '.join(missing)}; it has: {_shortened(first)}")  # fmt: skip
        if repeated := [name for name in source.schema.names if first.count(name) > 1]:
            raise InputError(f"source '{source.name}' needs each column once; {path} has {', '.join(repeated)} more "
                             "than once; choose columns by number: columns=(1, 2, ...)")  # fmt: skip
        return first
    numbers = form.columns or tuple(range(1, len(source.schema) + 1))
    if fields and max(numbers) > fields:
        raise InputError(f"source '{source.name}' reads column {max(numbers)} of {path}, which has {fields} columns")
    names = [f"#{i}" for i in range(1, max(fields, *numbers) + 1)]
    for place, (number, name) in enumerate(zip(numbers, source.schema.names, strict=True)):
        if number in numbers[:place]:
            raise InputError(f"source '{source.name}' reads column {number} for '{name}' and for another attribute, "
                             "too; give each attribute a column of its own")  # fmt: skip
        names[number - 1] = name
    return names
