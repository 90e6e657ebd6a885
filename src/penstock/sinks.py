"""Sinks by short names: `stream.sink("out", ps.sinks.memory())`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.arguments import FLAG, PATH, check_arguments
from penstock.connectors.console import ConsoleSink
from penstock.connectors.csv import CsvSink
from penstock.connectors.discard import DiscardSink
from penstock.connectors.functions import CallbackSink, ForeachBatchSink
from penstock.connectors.memory import MemorySink
from penstock.connectors.parquet import ParquetSink


def memory() -> MemorySink:
    """Tuples kept for the caller of `ps.evaluate` or `ps.run`.

    >>> memory()
    MemorySink()
    """
    return MemorySink()


def parquet(path: str | Path, *, ordered: bool = False, compression: str = "lz4") -> ParquetSink:
    """A directory of Parquet files; with `ordered`, files in the order of their names have all tuples in order.

    `compression`: none, snappy, gzip, brotli, lz4 or zstd.

    >>> parquet("out", ordered=True)
    ParquetSink(path='out', ordered=True, compression='lz4')
    """
    check_arguments("ps.sinks.parquet", path=(path, PATH), ordered=(ordered, FLAG))
    return ParquetSink(str(path), ordered, compression)


def csv(path: str | Path) -> CsvSink:
    """A directory of CSV files, which in the order of their names have all tuples in order.

    >>> csv("out")
    CsvSink(path='out')
    """
    check_arguments("ps.sinks.csv", path=(path, PATH))
    return CsvSink(str(path))


def callback(function: Callable[[pa.Table, int], object]) -> CallbackSink:
    """Tuples given to `function(table, batch_id)` in order, once per micro-batch that has any.

    After a failure the last batch may come again, under the same batch_id and with the same tuples.

    >>> seen = []
    >>> _ = callback(lambda table, batch_id: seen.append((batch_id, table.num_rows)))
    """
    return CallbackSink(function)


def foreach_batch(function: Callable[[Any, int], object]) -> ForeachBatchSink:
    """Tuples given to `function(dataframe, batch_id)` as a DataFrame that is computed already; on Spark alone.

    After a failure the last batch may come again, under the same batch_id and with the same tuples.

    >>> _ = foreach_batch(lambda dataframe, batch_id: dataframe.write.mode("append").parquet("out"))
    """
    return ForeachBatchSink(function)


def console(rows: int = 20) -> ConsoleSink:
    """The first `rows` tuples of each micro-batch printed.

    >>> console(rows=5)
    ConsoleSink(rows=5)
    """
    return ConsoleSink(rows)


def discard() -> DiscardSink:
    """Tuples that are only counted and summed up in a checksum.

    >>> discard()
    DiscardSink()
    """
    return DiscardSink()
