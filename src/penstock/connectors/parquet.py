"""Parquet files as a source and as a sink."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.connectors.port import FILES_PER_BATCH


@dataclass(frozen=True, slots=True)
class ParquetSource:
    """Rows of Parquet files; paths as with `CsvSource`."""

    path: str
    files_per_batch: int = FILES_PER_BATCH


@dataclass(frozen=True, slots=True)
class ParquetSink:
    """A directory of Parquet files; `ordered`: in the total order when files are read in the order of their names."""

    path: str
    ordered: bool = False
    compression: str = "lz4"
