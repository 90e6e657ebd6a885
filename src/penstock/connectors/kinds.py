"""Every kind of connector: the types that a source and a sink may have, and their names in stored applications."""

from __future__ import annotations

from typing import Any

from penstock.connectors.console import ConsoleSink
from penstock.connectors.csv import CsvSink, CsvSource
from penstock.connectors.dataframe import DataFrameSource
from penstock.connectors.discard import DiscardSink
from penstock.connectors.files.paths import with_paths
from penstock.connectors.functions import CallbackSink, ForeachBatchSink
from penstock.connectors.memory import MemorySink
from penstock.connectors.parquet import ParquetSink, ParquetSource
from penstock.connectors.planned.source_port import SourcePort
from penstock.connectors.rate import RateSource
from penstock.connectors.recorded import RecordedSource
from penstock.connectors.sinks.sink_port import SinkPort
from penstock.connectors.trace.source import TraceSource

SourceConnector = SourcePort
SinkConnector = SinkPort
# Connectors of later versions are stored by module and name, as users' own are.
_SOURCES = (CsvSource, ParquetSource, TraceSource, DataFrameSource, RateSource, RecordedSource)
_SINKS = (MemorySink, ParquetSink, CsvSink, CallbackSink, ForeachBatchSink, ConsoleSink, DiscardSink)
_FILE_SINKS = (ParquetSink, CsvSink)
KIND_BY_NAME: dict[str, type[Any]] = {kind.__name__: kind for kind in (*_SOURCES, *_SINKS)}


def discarding_sink() -> SinkPort:
    """A sink that counts tuples and drops them."""
    return DiscardSink()


def in_folder(connector: SinkPort, folder: str) -> SinkPort | None:
    """A sink of plain files, writing into another folder; None where a sink is of another kind."""
    made: SinkPort | None = with_paths(connector, lambda path: folder) if type(connector) in _FILE_SINKS else None
    return made


def rehearsing_sink(connector: SinkPort, folder: str) -> SinkPort:
    """A sink that stages as this one does, and writes nothing outside the folder."""
    if type(connector) in (MemorySink, DiscardSink):
        return connector
    other: SinkPort = MemorySink() if getattr(connector, "ordered", True) else DiscardSink()
    return in_folder(connector, folder) or other
