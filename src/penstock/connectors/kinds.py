"""Every kind of connector: the types that a source and a sink may have, and their names in stored applications."""

from __future__ import annotations

from typing import Any

from penstock.connectors.console import ConsoleSink
from penstock.connectors.csv import CsvSink, CsvSource
from penstock.connectors.dataframe import DataFrameSource
from penstock.connectors.discard import DiscardSink
from penstock.connectors.functions import CallbackSink, ForeachBatchSink
from penstock.connectors.memory import MemorySink
from penstock.connectors.parquet import ParquetSink, ParquetSource
from penstock.connectors.rate import RateSource
from penstock.connectors.recorded import RecordedSource
from penstock.connectors.trace.source import TraceSource

SourceConnector = CsvSource | ParquetSource | TraceSource | DataFrameSource | RateSource | RecordedSource
SinkConnector = MemorySink | ParquetSink | CsvSink | CallbackSink | ForeachBatchSink | ConsoleSink | DiscardSink
KIND_BY_NAME: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (*SourceConnector.__args__, *SinkConnector.__args__)
}
