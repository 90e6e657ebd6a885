"""What must hold of a source's connector and schema; what does not is noted with the operator's other mistakes."""

from __future__ import annotations

import pyarrow as pa

from penstock.app.workbook import Entry
from penstock.arguments import is_whole
from penstock.connectors.csv import CsvSource
from penstock.connectors.dataframe import DataFrameSource
from penstock.connectors.kinds import SourceConnector
from penstock.connectors.parquet import ParquetSource
from penstock.connectors.rate import RateSource
from penstock.connectors.trace.source import TraceSource
from penstock.errors import InputError


def schema_of_source(entry: Entry, connector: object, given: object) -> pa.Schema:
    """The schema that was given, else the connector's own."""
    if given is not None or not isinstance(connector, TraceSource | DataFrameSource | RateSource):
        return entry.schema(given)
    if isinstance(connector, DataFrameSource) and not _is_dataframe(connector.frame):
        return pa.schema([])
    try:
        return entry.schema(connector.schema)
    except InputError as error:
        entry.problem(f"cannot read its source: {error}")
        return pa.schema([])


def check_stamp(entry: Entry, stamp: str | None, schema: pa.Schema) -> None:
    if stamp is not None and entry.has_attribute(stamp, schema, "stamp"):
        kind = schema.field(stamp).type
        if not (pa.types.is_timestamp(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            entry.problem(f"has the stamp '{stamp}', which must be a timestamp or a number; got {kind}")


def check_connector(entry: Entry, connector: object, schema: pa.Schema) -> None:
    if not isinstance(connector, SourceConnector | None):
        entry.problem(f"needs a source such as ps.sources.csv('file.csv'); got {connector!r}")
    if isinstance(connector, CsvSource) and connector.columns is not None and len(connector.columns) != len(schema):
        entry.problem(
            f"reads {len(connector.columns)} columns by number but has {len(schema)} attributes in its schema"
        )
    if isinstance(connector, CsvSource | ParquetSource) and not is_whole(connector.files_per_batch, 1):
        entry.problem(f"needs files_per_batch as a whole number of at least 1; got {connector.files_per_batch!r}")
    if isinstance(connector, RateSource) and not is_whole(connector.rows_per_second, 1):
        entry.problem(f"needs rows_per_second as a whole number of at least 1; got {connector.rows_per_second!r}")
    if isinstance(connector, DataFrameSource):
        _check_dataframe(entry, connector.frame, schema)


def _check_dataframe(entry: Entry, frame: object, schema: pa.Schema) -> None:
    if not _is_dataframe(frame):
        entry.problem(f"needs a streaming DataFrame in ps.sources.dataframe(...); got {frame!r}")
    elif not frame.isStreaming:  # type: ignore[attr-defined]
        entry.problem(
            "needs a streaming DataFrame (spark.readStream...); got one that is not",
            "for finite data use ps.evaluate(app, {name: frame.toArrow()})",
        )
    else:
        for name in schema.names:
            entry.has_attribute(name, pa.schema([(c, pa.null()) for c in frame.columns]), "its schema")  # type: ignore[attr-defined]


def _is_dataframe(frame: object) -> bool:
    return hasattr(frame, "isStreaming") and hasattr(frame, "schema")
