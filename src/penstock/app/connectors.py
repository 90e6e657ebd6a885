"""Where a source's tuples come from and where a sink's tuples go: plain values, opened by an engine."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.generate.trace_source import TraceSource

__all__ = [
    "CsvSource",
    "DiscardSink",
    "ParquetSource",
    "RecordedSource",
    "TraceSource",
    "SourceConnector",
    "MemorySink",
    "ParquetSink",
    "CsvSink",
    "SinkConnector",
]


@dataclass(frozen=True, slots=True)
class CsvSource:
    """Lines of a CSV file; `columns` picks fields by number from 1, in the schema's order (None: all, in order)."""

    path: str
    header: bool = True
    columns: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ParquetSource:
    """Rows of a Parquet file."""

    path: str


@dataclass(frozen=True, slots=True)
class MemorySink:
    """Tuples kept for the caller."""


@dataclass(frozen=True, slots=True)
class ParquetSink:
    """A directory of Parquet files; `ordered`: their rows are in order when the files are read in name order."""

    path: str
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class CsvSink:
    """A directory of CSV files."""

    path: str


@dataclass(frozen=True, slots=True)
class DiscardSink:
    """Tuples counted and summed up in a checksum, then dropped."""


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """Tuples with their positions in an Arrow file, as `ps.evaluate` records them for Spark."""

    path: str


SourceConnector = CsvSource | ParquetSource | TraceSource | RecordedSource
SinkConnector = MemorySink | ParquetSink | CsvSink | DiscardSink
