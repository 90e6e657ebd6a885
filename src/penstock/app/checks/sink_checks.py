"""What must hold of a sink's connector; what does not is noted with the operator's other mistakes."""

from __future__ import annotations

from penstock.app.workbook import Entry
from penstock.arguments import is_whole
from penstock.connectors.console import ConsoleSink
from penstock.connectors.functions import CallbackSink, ForeachBatchSink
from penstock.connectors.parquet import ParquetSink
from penstock.errors import did_you_mean

COMPRESSIONS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")


def check_sink(entry: Entry, connector: object) -> None:
    if isinstance(connector, ParquetSink) and connector.compression not in COMPRESSIONS:
        entry.problem(
            f"has the compression {connector.compression!r}; there are: {', '.join(COMPRESSIONS)}",
            did_you_mean(str(connector.compression), COMPRESSIONS),
        )
    if isinstance(connector, CallbackSink | ForeachBatchSink) and not callable(connector.function):
        entry.problem(f"needs a function of a batch's tuples and its id; got {connector.function!r}")
    if isinstance(connector, ConsoleSink) and not (is_whole(connector.rows, 0)):
        entry.problem(f"needs rows as a whole number of at least 0; got {connector.rows!r}")
