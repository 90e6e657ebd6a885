"""Sinks by short names: `stream.sink("out", ps.sinks.memory())`; `SinkPort` is what a sink of your own has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.arguments import FLAG, NAMES, PATH, check_arguments, checked_call, number, or_none, whole
from penstock.connectors.console import ConsoleSink
from penstock.connectors.csv import CsvSink
from penstock.connectors.discard import DiscardSink
from penstock.connectors.functions import CallbackSink, ForeachBatchSink
from penstock.connectors.memory import MAX_MB, MAX_ROWS, MemorySink
from penstock.connectors.parquet import ParquetSink
from penstock.connectors.sinks.delta import delta as delta
from penstock.connectors.sinks.iceberg import iceberg as iceberg
from penstock.connectors.sinks.json_lines import json_lines as json_lines
from penstock.connectors.sinks.kafka import kafka as kafka
from penstock.connectors.sinks.postgres import postgres as postgres
from penstock.connectors.sinks.sink_port import Claim as Claim
from penstock.connectors.sinks.sink_port import Delivered as Delivered
from penstock.connectors.sinks.sink_port import Delivery as Delivery
from penstock.connectors.sinks.sink_port import OpenPart as OpenPart
from penstock.connectors.sinks.sink_port import Part as Part
from penstock.connectors.sinks.sink_port import SinkPort as SinkPort
from penstock.connectors.sinks.sink_port import SinkPromise as SinkPromise
from penstock.connectors.sinks.sink_port import Sweep as Sweep
from penstock.errors import no_attribute
from penstock.host.paths.local_path import local_path

__all__ = [
    "Claim",
    "Delivered",
    "Delivery",
    "OpenPart",
    "Part",
    "SinkPort",
    "SinkPromise",
    "Sweep",
    "callback",
    "console",
    "csv",
    "delta",
    "discard",
    "foreach_batch",
    "iceberg",
    "json_lines",
    "kafka",
    "memory",
    "parquet",
    "postgres",
]


@checked_call("ps.sinks.memory")
def memory(*, max_rows: int | None = MAX_ROWS, max_mb: float | None = MAX_MB) -> MemorySink:
    """Tuples kept for the caller of `ps.evaluate`, `ps.run` or `handle.stop()`.

    A run keeps its newest tuples, at most `max_rows` of them and `max_mb` megabytes (None: without that bound).  Older
    ones are dropped with one warning, and counted in `RunResult.dropped`.  Finite evaluation keeps all.

    >>> memory(max_rows=1000)
    MemorySink(max_rows=1000, max_mb=1024.0)
    """
    bounds = {"max_rows": (max_rows, or_none(whole(1))), "max_mb": (max_mb, or_none(number(above=0)))}
    check_arguments("ps.sinks.memory", **bounds)
    return MemorySink(max_rows, max_mb)


@checked_call("ps.sinks.parquet")
def parquet(
    path: str | Path,
    *,
    ordered: bool = False,
    compression: str = "lz4",
    partition_by: str | Sequence[str] = (),
    compact_files: int | None = None,
) -> ParquetSink:
    """A directory of Parquet files; with `ordered`, files in the order of their names have all tuples in order.

    `compression`: none, snappy, gzip, brotli, lz4 or zstd.  `partition_by`: attributes whose values name folders
    (`ticker=IBM`, as Spark, Arrow and DuckDB read them), or `date(at)` for the day, in UTC, of a time.
    `compact_files`: one file (in each partition) for so many micro-batches; tuples wait out of sight until it is
    written, at the latest until the application stops or starts again.

    >>> parquet("out", partition_by=["date(at)", "ticker"], compact_files=100).partition_by
    ('date(at)', 'ticker')
    """
    keys = (partition_by,) if isinstance(partition_by, str) else partition_by
    check_arguments(
        "ps.sinks.parquet", path=(path, PATH), ordered=(ordered, FLAG), partition_by=(keys, NAMES),
        compact_files=(compact_files, or_none(whole(2))),
    )  # fmt: skip
    return ParquetSink(local_path(path, "path of ps.sinks.parquet"), ordered, compression, tuple(keys), compact_files)


@checked_call("ps.sinks.csv")
def csv(path: str | Path) -> CsvSink:
    """A directory of CSV files, which in the order of their names have all tuples in order.

    >>> csv("out")
    CsvSink(path='out')
    """
    check_arguments("ps.sinks.csv", path=(path, PATH))
    return CsvSink(local_path(path, "path of ps.sinks.csv"))


@checked_call("ps.sinks.callback")
def callback(function: Callable[[pa.Table, int], object]) -> CallbackSink:
    """Tuples given to `function(table, batch_id)` in order, once per micro-batch that has any.

    After a failure the last batch may come again, under the same batch_id and with the same tuples.  `batch_id` is an
    int with one more attribute, `run_id`: write under both, since the batches of a new checkpoint begin at 0 again.

    >>> seen = []
    >>> _ = callback(lambda table, batch_id: seen.append((batch_id, table.num_rows)))
    """
    return CallbackSink(function)


@checked_call("ps.sinks.foreach_batch")
def foreach_batch(function: Callable[[Any, int], object]) -> ForeachBatchSink:
    """Tuples given to `function(dataframe, batch_id)` as a DataFrame that is computed already; on Spark alone.

    After a failure the last batch may come again, under the same batch_id and with the same tuples.  `batch_id` is an
    int with one more attribute, `run_id`, the id of the checkpoint (`handle.run_id`).  Write under both, and writing
    twice does no harm.  `batch_id` alone is not enough: the batches of a new checkpoint begin at 0 again.

    >>> def write(dataframe, batch_id):
    ...     dataframe.write.mode("overwrite").parquet(f"out/run={batch_id.run_id}/batch={batch_id}")
    >>> _ = foreach_batch(write)
    """
    return ForeachBatchSink(function)


@checked_call("ps.sinks.console")
def console(rows: int = 20) -> ConsoleSink:
    """The first `rows` tuples of each micro-batch printed.

    >>> console(rows=5)
    ConsoleSink(rows=5)
    """
    return ConsoleSink(rows)


@checked_call("ps.sinks.discard")
def discard() -> DiscardSink:
    """Tuples that are only counted and summed up in a checksum.

    >>> discard()
    DiscardSink()
    """
    return DiscardSink()


if not TYPE_CHECKING:  # which finds names that are not there itself

    def __getattr__(name: str) -> Any:
        raise no_attribute("penstock.sinks", name, __all__)


def __dir__() -> list[str]:
    return __all__
