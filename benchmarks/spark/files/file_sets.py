"""Directories of trades with string tickers: some files are written, all others are links to them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from penstock import sources


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files of one kind; file i of the directory has the rows of table i modulo the number of tables."""

    folder: Path
    tables: tuple[pa.Table, ...]
    files: int

    @property
    def tuples(self) -> int:
        return sum(self.table(number).num_rows for number in range(self.files))

    def table(self, number: int) -> pa.Table:
        return self.tables[number % len(self.tables)]


def trade_tables(count: int, rows: int, keys: int) -> tuple[pa.Table, ...]:
    """Stretches of the trace."""
    trace = sources.trace("unbounded", keys=keys, ticker="string")
    return tuple(trace.table(number * rows, (number + 1) * rows) for number in range(count))


def write_files(folder: Path, kind: str, tables: tuple[pa.Table, ...], files: int) -> FileSet:
    """A directory of so many files, named in their order, and older ones first."""
    folder.mkdir(parents=True)
    for number in range(files):
        path = folder / f"{number:06d}.{kind}"
        if number >= len(tables):
            os.link(folder / f"{number % len(tables):06d}.{kind}", path)
        elif kind == "csv":
            pyarrow.csv.write_csv(tables[number], path, pyarrow.csv.WriteOptions(quoting_style="none"))
        else:
            pyarrow.parquet.write_table(tables[number], path)
    return FileSet(folder, tables, files)
