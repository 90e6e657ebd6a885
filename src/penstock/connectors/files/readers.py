"""Files read into tables for sources; rows that do not fit become dead letters."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from penstock.block.dead_letters import DeadLetters
from penstock.connectors.csv import CsvSource
from penstock.connectors.dataframe import DataFrameSource
from penstock.connectors.files.csv_lines import Lines, read_csv
from penstock.connectors.files.listing import files_of, is_growing
from penstock.connectors.files.whole_files import read_arrow, read_parquet
from penstock.connectors.parquet import ParquetSource
from penstock.connectors.port import SourceSpec
from penstock.connectors.rate import RateSource
from penstock.connectors.recorded import RecordedSource
from penstock.connectors.row_checks import check_batch
from penstock.connectors.trace.source import TraceSource
from penstock.errors import InputError
from penstock.host.paths.local_path import local_path


def read_source(source: SourceSpec, letters: DeadLetters, data_dir: str | Path | None = None) -> pa.Table:
    """All tuples of a source's own connector; relative paths start at `data_dir`."""
    if source.connector is None:
        raise InputError(
            f"source '{source.name}' has no file of its own and was given no input; "
            f"give its tuples, {{'{source.name}': {{'attribute': [...]}}}}, or --input {source.name}=FILE"
        )
    return read_connector(source.connector, source, letters, data_dir)


def is_one_file(connector: object) -> bool:
    """Whether a connector reads a file that does not grow."""
    return isinstance(connector, CsvSource | ParquetSource) and not is_growing(connector.path)


def read_file(path: str | Path, source: SourceSpec, letters: DeadLetters) -> pa.Table:
    """Tuples for a source from what the user named: .parquet, .csv (with a header), .arrow; or a directory of them."""
    path = local_path(path, f"the input of source '{source.name}'")
    suffix = _suffix(path)
    if suffix in (".arrow", ".feather"):
        return read_arrow(_existing(path, source), source)
    connector = ParquetSource(path) if suffix == ".parquet" else CsvSource(path)
    return read_connector(connector, source, letters, None)


def _suffix(path: str | Path) -> str:
    """What kind of file it is, or the first of many."""
    files = files_of(path)
    return (files[0] if files else Path(path)).suffix.lower()


def read_connector(
    connector: object, source: SourceSpec, letters: DeadLetters, data_dir: str | Path | None
) -> pa.Table:
    if isinstance(connector, TraceSource):
        if connector.open().total is None:
            raise InputError(f"source '{source.name}' reads a trace, which has no end; give the trace a total, or its "
                             f"tuples as a table: ps.evaluate(app, {{'{source.name}': table}})")  # fmt: skip
        return connector.table()
    if isinstance(connector, RecordedSource):
        return read_arrow(Path(connector.path), source).select(source.schema.names)
    if not isinstance(connector, CsvSource | ParquetSource):
        names: dict[type, str] = {DataFrameSource: "a streaming DataFrame", RateSource: "Spark's rate source"}
        kind = names.get(type(connector), type(connector).__name__)
        raise InputError(f"source '{source.name}' reads {kind}, which has no end; give its tuples as a table: "
                         f"ps.evaluate(app, {{'{source.name}': table}}), or run the application on Spark")  # fmt: skip
    path = Path(data_dir or ".") / local_path(connector.path, f"the path of source '{source.name}'")
    if not is_growing(path):
        return read_one(_existing(path, source), connector, source, letters)
    files = files_of(path)
    if not files and not os.path.isdir(path):
        raise InputError(f"source '{source.name}' reads the files {path}, and there are none")
    tables = [_checked(read_one(file, connector, source, letters), source) for file in files]
    return pa.concat_tables(tables, promote_options="permissive") if tables else source.schema.empty_table()


def read_one(path: Path, connector: CsvSource | ParquetSource, source: SourceSpec, letters: DeadLetters) -> pa.Table:
    """The rows of one file."""
    if isinstance(connector, CsvSource):
        return read_csv(Lines(path), connector, source, letters)
    return read_parquet(path, source)


def _checked(table: pa.Table, source: SourceSpec) -> pa.Table:
    """The source's attributes of one file among several."""
    check_batch(table, source)
    return table.select(source.schema.names)


def _existing(path: str | Path, source: SourceSpec) -> Path:
    if not os.path.isfile(path):  # False where no file can have that name
        which = "a folder without such files" if os.path.isdir(path) else "not there"
        raise InputError(f"source '{source.name}' reads the file {path}, which is {which}")
    return Path(path)
