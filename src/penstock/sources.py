"""Sources by short names: `app.source("trades", ps.sources.csv("trades.csv"), schema={...})`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.arguments import FLAG, PATH, check_arguments, is_number, many, or_none, shown, whole
from penstock.connectors.csv import CsvSource
from penstock.connectors.dataframe import DataFrameSource
from penstock.connectors.parquet import ParquetSource
from penstock.connectors.port import FILES_PER_BATCH
from penstock.connectors.rate import RateSource
from penstock.connectors.trace.source import RATES, TraceSource, TupleFunction
from penstock.connectors.trace.trades import KEYS, TickerType
from penstock.errors import InputError

_RATE_TUPLES_S = 150_000.0


def csv(
    path: str | Path,
    *,
    header: bool = True,
    columns: Sequence[int] | None = None,
    files_per_batch: int = FILES_PER_BATCH,
) -> CsvSource:
    """Lines of CSV files, attributes by name (header) or by number from 1 (`columns`).

    `path` is a file, or a directory or pattern (`in/*.csv`) whose files are read in the order of their names; on Spark
    those are streams that grow by whole files, at most `files_per_batch` in one micro-batch.

    >>> csv("in/*.csv", columns=[1, 3]).columns
    (1, 3)
    """
    numbers = or_none(many("a list of column numbers from 1", whole(1)))
    check_arguments("ps.sources.csv", path=(path, PATH), header=(header, FLAG), columns=(columns, numbers))
    return CsvSource(str(path), header, None if columns is None else tuple(columns), files_per_batch)


def parquet(path: str | Path, *, files_per_batch: int = FILES_PER_BATCH) -> ParquetSource:
    """Rows of Parquet files, attributes by name; paths as with `csv`.

    >>> parquet("in/trades.parquet").path
    'in/trades.parquet'
    """
    check_arguments("ps.sources.parquet", path=(path, PATH))
    return ParquetSource(str(path), files_per_batch)


def dataframe(frame: Any) -> DataFrameSource:
    """Rows of a streaming DataFrame: Kafka, Delta, whatever Spark reads; its schema is the source's, too.

    `ps.sources.dataframe(spark.readStream.format("kafka").option(...).load())`
    """
    return DataFrameSource(frame)


def rate(rows_per_second: int = 1) -> RateSource:
    """Spark's rate source: `value` counts from 0, `timestamp` is the moment a row was made (UTC).

    >>> rate(100).schema.names
    ['timestamp', 'value']
    """
    return RateSource(rows_per_second)


def trace(
    rate: str | Path | Sequence[str | Path] = "constant",
    rate_tuples_s: float | None = None,
    *,
    speed_up: float = 1.0,
    period_s: float | None = None,
    keys: int | None = None,
    key_distribution: str | None = None,
    seed: int = 7,
    total: int | None = None,
    ticker: TickerType = "symbol",
    function: TupleFunction | None = None,
) -> TraceSource:
    """Trades and quotes that can be replayed: the tuple at an offset is always the same.

    `rate`: constant, step, spike, diurnal, random_walk, trading_day, unbounded (as fast as the engine takes them), or
    CSV files with the columns timestamp and value, or seconds and rate; several files are one per key.
    `rate_tuples_s`: the mean rate as it reaches the engine, 150,000 where not given; a file has its own, x `speed_up`.
    `key_distribution`: uniform, zipf, or traces (each file's tuples are one key's, the default for several files).
    `function`: makes the tuples of an array of offsets, in place of seq, ticker, ttype, price and volume.

    >>> trace(keys=3, total=2).table().column_names
    ['seq', 'ticker', 'ttype', 'price', 'volume']
    """
    rates = _rates(rate)
    files = 0 if isinstance(rates, str) else len(rates)
    if rate_tuples_s is None and not files:
        rate_tuples_s = _RATE_TUPLES_S
    distribution = ("traces" if files > 1 else "uniform") if key_distribution is None else key_distribution
    if keys is None:
        keys = files if files and distribution == "traces" else KEYS
    return TraceSource(rates, rate_tuples_s, speed_up, period_s, keys, distribution, seed, total, ticker, function)


def _rates(rate: str | Path | Sequence[str | Path]) -> str | tuple[str, ...]:
    """A name as it is, files as a tuple of paths."""
    if isinstance(rate, str | Path):
        is_file = str(rate) not in RATES and (isinstance(rate, Path) or bool(Path(rate).suffix) or Path(rate).exists())
        return (str(rate),) if is_file else str(rate)
    if not isinstance(rate, Sequence) or not all(isinstance(file, str | Path) for file in rate):
        hint = f"; for tuples a second use rate_tuples_s={rate!r}" if is_number(rate) else ""
        raise InputError(f"a trace's rate is a name or CSV files; got {shown(rate)}{hint}")
    return tuple(map(str, rate))
