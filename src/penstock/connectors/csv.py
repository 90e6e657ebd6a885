"""CSV files as a source and as a sink."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.connectors.port import FILES_PER_BATCH


@dataclass(frozen=True, slots=True)
class CsvSource:
    """Lines of CSV files; `columns` picks fields by number from 1, in the schema's order (None: all, in order).

    `path` is a file, a directory or a pattern; on Spark the last two are streams that grow by whole files, at most
    `files_per_batch` of them in one micro-batch.
    """

    path: str
    header: bool = True
    columns: tuple[int, ...] | None = None
    files_per_batch: int = FILES_PER_BATCH


@dataclass(frozen=True, slots=True)
class CsvSink:
    """A directory of CSV files, in the total order when files are read in the order of their names."""

    path: str
