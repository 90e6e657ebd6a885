"""Files read into tables for sources; rows that do not fit become dead letters."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from penstock.block.conversion import converted
from penstock.block.dead_letters import DeadLetters
from penstock.block.schema import word_of
from penstock.connectors.csv import CsvSource
from penstock.connectors.dataframe import DataFrameSource
from penstock.connectors.files.paths import files_of, is_growing
from penstock.connectors.parquet import ParquetSource
from penstock.connectors.port import SourceSpec
from penstock.connectors.rate import RateSource
from penstock.connectors.recorded import RecordedSource
from penstock.connectors.row_checks import check_batch
from penstock.connectors.trace.source import TraceSource
from penstock.errors import InputError


def read_source(source: SourceSpec, letters: DeadLetters, data_dir: str | Path | None = None) -> pa.Table:
    """All tuples of a source's own connector; relative paths start at `data_dir`."""
    if source.connector is None:
        raise InputError(
            f"source '{source.name}' has no file of its own and was given no input; add --input {source.name}=FILE"
        )
    return read_connector(source.connector, source, letters, data_dir)


def is_one_file(connector: object) -> bool:
    """Whether a connector reads a file that does not grow."""
    return isinstance(connector, CsvSource | ParquetSource) and not is_growing(connector.path)


def read_file(path: str | Path, source: SourceSpec, letters: DeadLetters) -> pa.Table:
    """Tuples for a source from what the user named: .parquet, .csv (with a header), .arrow; or a directory of them."""
    suffix = _suffix(path)
    if suffix in (".arrow", ".feather"):
        return _read_arrow(_existing(path, source), source)
    connector = ParquetSource(str(path)) if suffix == ".parquet" else CsvSource(str(path))
    return read_connector(connector, source, letters, None)


def _suffix(path: str | Path) -> str:
    """What kind of file it is, or the first of many."""
    files = files_of(path)
    return (files[0] if files else Path(path)).suffix.lower()


def _read_arrow(path: Path, source: SourceSpec) -> pa.Table:
    try:
        with pa.memory_map(str(path)) as file:
            return pa.ipc.open_file(file).read_all()
    except pa.ArrowException as error:
        raise InputError(f"source '{source.name}' reads {path}, which is not an Arrow file: {error}") from error


def read_connector(
    connector: object, source: SourceSpec, letters: DeadLetters, data_dir: str | Path | None
) -> pa.Table:
    if isinstance(connector, TraceSource):
        return connector.table()
    if isinstance(connector, RecordedSource):
        return _read_arrow(Path(connector.path), source).select(source.schema.names)
    if isinstance(connector, DataFrameSource | RateSource):
        kind = "a streaming DataFrame" if isinstance(connector, DataFrameSource) else "Spark's rate source"
        raise InputError(f"source '{source.name}' reads {kind}, which has no end; give its tuples as a table: "
                         f"ps.evaluate(app, {{'{source.name}': table}}), or run the application on Spark")  # fmt: skip
    assert isinstance(connector, CsvSource | ParquetSource)
    path = Path(data_dir or ".") / connector.path
    if not is_growing(path):
        return read_one(_existing(path, source), connector, source, letters)
    files = files_of(path)
    if not files and not path.is_dir():
        raise InputError(f"source '{source.name}' reads the files {path}, and there are none")
    tables = [_checked(read_one(file, connector, source, letters), source) for file in files]
    return pa.concat_tables(tables, promote_options="permissive") if tables else source.schema.empty_table()


def read_one(path: Path, connector: CsvSource | ParquetSource, source: SourceSpec, letters: DeadLetters) -> pa.Table:
    """The rows of one file."""
    if isinstance(connector, CsvSource):
        return _read_csv(path, connector, source, letters)
    try:
        return pyarrow.parquet.read_table(path, partitioning=None)
    except pa.ArrowException as error:
        raise InputError(
            f"source '{source.name}' reads Parquet from {path}, which is not a Parquet file: {error}"
        ) from error


def _checked(table: pa.Table, source: SourceSpec) -> pa.Table:
    """The source's attributes of one file among several."""
    check_batch(table, source)
    return table.select(source.schema.names)


def _existing(path: str | Path, source: SourceSpec) -> Path:
    if not Path(path).is_file():
        raise InputError(f"source '{source.name}' reads the file {path}, which is not there")
    return Path(path)


def _read_csv(path: Path, connector: CsvSource, source: SourceSpec, letters: DeadLetters) -> pa.Table:
    """Every field as text first, then converted, so that one bad row costs only itself."""
    lines = _text_fields(path, connector, source, letters)
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
    for row in lines.take(pa.array(np.flatnonzero(wrong))).to_pylist() if wrong.any() else ():
        letters.add(source.name, reason, row)


def _text_fields(path: Path, connector: CsvSource, source: SourceSpec, letters: DeadLetters) -> pa.Table:
    names = _field_names(path, connector, source)
    torn: list[pa.csv.InvalidRow] = []  # told afterwards, since Arrow prints what a handler raises and goes on

    def skip(row: pa.csv.InvalidRow) -> str:
        torn.append(row)
        return "skip"

    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), include_columns=source.schema.names,
        strings_can_be_null=True, null_values=[""], quoted_strings_can_be_null=False,
    )  # fmt: skip
    read = pa.csv.ReadOptions(column_names=names, skip_rows=1 if connector.header else 0)
    try:
        lines = pa.csv.read_csv(path, read, pa.csv.ParseOptions(invalid_row_handler=skip), convert).combine_chunks()
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return pa.schema([(name, pa.string()) for name in source.schema.names]).empty_table()
        raise InputError(f"source '{source.name}' reads CSV from {path}, which does not parse: {error}") from error
    for row in torn:
        reason = f"has {row.actual_columns} fields where its file has {row.expected_columns}"
        letters.add(source.name, reason, {"line": row.text})
    return lines


def _field_names(path: Path, connector: CsvSource, source: SourceSpec) -> list[str]:
    """A name for every field of the file: the schema's where a field is read, else its number."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        first = next(csv.reader(file), [])
    fields = len(first)
    if connector.header and connector.columns is None:
        missing = [name for name in source.schema.names if name not in first]
        if missing:
            raise InputError(f"source '{source.name}' needs the columns {', '.join(source.schema.names)}; {path} lacks "
                             f"{', '.join(missing)}; it has: {', '.join(first)}")  # fmt: skip
        return first
    numbers = connector.columns or tuple(range(1, len(source.schema) + 1))
    if fields and max(numbers) > fields:
        raise InputError(f"source '{source.name}' reads column {max(numbers)} of {path}, which has {fields} columns")
    names = [f"#{i}" for i in range(1, max(fields, *numbers) + 1)]
    for number, name in zip(numbers, source.schema.names, strict=True):
        names[number - 1] = name
    return names
