"""Results into files: each under a temporary name first, so that a file is whole or not there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from penstock.connectors.csv import CsvSink
from penstock.connectors.parquet import ParquetSink
from penstock.errors import InputError

FORMATS = ("parquet", "csv")
COMPRESSION = "lz4"
ROW_GROUP_ROWS = 1 << 20  # few, so that a reader's vectors are long, and still parts that tasks can share


def write_for(connector: ParquetSink | CsvSink, table: pa.Table, name: str) -> Path:
    """Writes a file of that name into the sink's directory, in its format."""
    if isinstance(connector, CsvSink):
        return write_table(table, Path(connector.path), name, "csv")
    return write_table(table, Path(connector.path), name, "parquet", connector.compression)


def write_table(table: pa.Table, folder: Path, name: str, format_: str, compression: str = COMPRESSION) -> Path:
    """Writes `folder`/`name`.`format_` and gives its path."""
    path = folder / f"{file_name(name)}.{format_}"
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _write(table, draft, format_, compression)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def file_name(name: str) -> str:
    """A stream's name as a file's: slashes are written as %2F."""
    return name.replace("%", "%25").replace("/", "%2F")


def _write(table: pa.Table, path: Path, format_: str, compression: str) -> None:
    if format_ == "csv":
        from pyarrow import csv

        csv.write_csv(_flat(table), path)
    else:
        from pyarrow import parquet

        parquet.write_table(table, path, compression=compression, row_group_size=ROW_GROUP_ROWS)


def _flat(table: pa.Table) -> pa.Table:
    """Columns as CSV can hold them: coded strings as strings, lists as JSON text."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, pc.cast(table.column(i), field.type.value_type))
        elif pa.types.is_list(field.type):
            texts = [None if value is None else json.dumps(value, default=str) for value in table.column(i).to_pylist()]
            table = table.set_column(i, field.name, pa.array(texts, pa.string()))
    return table
