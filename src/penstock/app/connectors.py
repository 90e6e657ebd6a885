"""Where a source's tuples come from and where a sink's tuples go: plain values, opened by an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.app.dataframe_schema import schema_of_dataframe
from penstock.app.schema import TIMESTAMP
from penstock.generate.trace_source import TraceSource

__all__ = [
    "CsvSource",
    "DataFrameSource",
    "ParquetSource",
    "RateSource",
    "RecordedSource",
    "TraceSource",
    "SourceConnector",
    "CallbackSink",
    "ConsoleSink",
    "CsvSink",
    "DiscardSink",
    "ForeachBatchSink",
    "MemorySink",
    "ParquetSink",
    "SinkConnector",
]

FILES_PER_BATCH = 64


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
class ParquetSource:
    """Rows of Parquet files; paths as with `CsvSource`."""

    path: str
    files_per_batch: int = FILES_PER_BATCH


@dataclass(frozen=True, slots=True)
class DataFrameSource:
    """Rows of a streaming DataFrame, which lives in the driver alone: a stored application has none."""

    frame: Any = field(default=None, compare=False, metadata={"stored": False})

    @property
    def schema(self) -> pa.Schema:
        return schema_of_dataframe(self.frame)

    def __reduce__(self) -> tuple[object, ...]:
        return DataFrameSource, ()


@dataclass(frozen=True, slots=True)
class RateSource:
    """Spark's rate source: so many rows a second, numbered from 0, each with the moment it was made."""

    rows_per_second: int

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([("timestamp", TIMESTAMP), ("value", pa.int64())])


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """Tuples with their positions in an Arrow file, as `ps.evaluate` records them for Spark."""

    path: str


@dataclass(frozen=True, slots=True)
class MemorySink:
    """Tuples kept for the caller."""


@dataclass(frozen=True, slots=True)
class ParquetSink:
    """A directory of Parquet files; `ordered`: in the total order when files are read in the order of their names."""

    path: str
    ordered: bool = False
    compression: str = "lz4"


@dataclass(frozen=True, slots=True)
class CsvSink:
    """A directory of CSV files, in the total order when files are read in the order of their names."""

    path: str


@dataclass(frozen=True, slots=True)
class CallbackSink:
    """Tuples given to `function(table, batch_id)` in the driver; a stored application has no function."""

    function: Callable[[pa.Table, int], object] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return CallbackSink, ()


@dataclass(frozen=True, slots=True)
class ForeachBatchSink:
    """Tuples given to `function(dataframe, batch_id)` in the driver; a stored application has no function."""

    function: Callable[[Any, int], object] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return ForeachBatchSink, ()


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    """The first `rows` tuples of each micro-batch printed."""

    rows: int = 20


@dataclass(frozen=True, slots=True)
class DiscardSink:
    """Tuples counted and summed up in a checksum, then dropped."""


SourceConnector = CsvSource | ParquetSource | TraceSource | DataFrameSource | RateSource | RecordedSource
SinkConnector = MemorySink | ParquetSink | CsvSink | CallbackSink | ForeachBatchSink | ConsoleSink | DiscardSink
