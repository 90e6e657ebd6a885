"""Sources by short names: `app.source("trades", ps.sources.csv("trades.csv"), schema={...})`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.arguments import (
    FLAG,
    PATH,
    TEXT,
    check_arguments,
    checked_call,
    dict_of,
    is_number,
    kind,
    many,
    number,
    or_none,
    secret,
    shown,
    whole,
)
from penstock.connectors.arriving.arrival import ArrivalColumn
from penstock.connectors.csv import CsvSource
from penstock.connectors.dataframe import DataFrameSource
from penstock.connectors.kafka.source import KafkaSource
from penstock.connectors.parquet import ParquetSource
from penstock.connectors.planned.source_port import Planning, Reading, SourcePort, Split
from penstock.connectors.planned.websocket import websocket
from penstock.connectors.port import FILES_PER_BATCH
from penstock.connectors.rate import RateSource
from penstock.connectors.trace.source import RATES, TraceSource, TupleFunction
from penstock.connectors.trace.trades import KEYS, TickerType
from penstock.errors import InputError, no_attribute
from penstock.host.extras import require
from penstock.host.paths.local_path import local_path

__all__ = [
    "Planning",
    "Reading",
    "SourcePort",
    "Split",
    "column",
    "csv",
    "dataframe",
    "kafka",
    "parquet",
    "rate",
    "trace",
    "websocket",
]

_RATE_TUPLES_S = 150_000.0
_START = kind("'earliest', 'latest', or a dict of offsets by partition, or by topic and partition", str, dict)
_OPTIONS = dict_of("a dict of librdkafka's settings", str, int, float, bool)


@checked_call("ps.sources.column")
def column(name: str) -> ArrivalColumn:
    """The attribute that says when a tuple arrived: `app.source(..., arrival=ps.sources.column("sent_at"))`.

    It is a timestamp, or a number of seconds since 1970 UTC.

    >>> column("sent_at").name
    'sent_at'
    """
    check_arguments("ps.sources.column", name=(name, TEXT))
    return ArrivalColumn(name)


@checked_call("ps.sources.csv")
def csv(
    path: str | Path,
    *,
    header: bool = True,
    columns: Sequence[int] | None = None,
    files_per_batch: int = FILES_PER_BATCH,
) -> CsvSource:
    """Lines of CSV files, attributes by name (header) or by number from 1 (`columns`).

    `path` is a file, a directory, or a pattern (`in/*.csv`) whose files are read in the order of their names.  On Spark
    a directory or pattern is a stream without an end: new files are read as they appear, at most `files_per_batch` in
    one micro-batch.

    >>> csv("in/*.csv", columns=[1, 3]).columns
    (1, 3)
    """
    numbers = or_none(many("a list of column numbers from 1", whole(1)))
    check_arguments("ps.sources.csv", path=(path, PATH), header=(header, FLAG), columns=(columns, numbers))
    local = local_path(path, "path of ps.sources.csv")
    return CsvSource(local, header, None if columns is None else tuple(columns), files_per_batch)


@checked_call("ps.sources.parquet")
def parquet(path: str | Path, *, files_per_batch: int = FILES_PER_BATCH) -> ParquetSource:
    """Rows of Parquet files, attributes by name; paths as with `csv`.

    >>> parquet("in/trades.parquet").path
    'in/trades.parquet'
    """
    check_arguments("ps.sources.parquet", path=(path, PATH))
    return ParquetSource(local_path(path, "path of ps.sources.parquet"), files_per_batch)


@checked_call("ps.sources.dataframe")
def dataframe(frame: Any) -> DataFrameSource:
    """Rows of a streaming DataFrame: of Kafka, Delta, or anything else that Spark reads; it brings its schema.

    `ps.sources.dataframe(spark.readStream.format("kafka").option(...).load())`
    """
    return DataFrameSource(frame)


@checked_call("ps.sources.kafka")
def kafka(
    servers: str,
    topic: str | Sequence[str],
    *,
    format: str = "json",
    start: str | Mapping[Any, Any] = "earliest",
    include: Sequence[str] = (),
    avro_schema: str | Mapping[str, Any] | None = None,
    on_expired: str = "fail",
    patience_s: float | None = 60.0,
    options: Mapping[str, str] | None = None,
) -> KafkaSource:
    """Messages of one or several Kafka topics; a name that begins with ^ is a pattern.  Needs the extra `kafka`.

    `format`: what a message holds.  `json`: one object.  `avro`: a record of `avro_schema`, with or without the prefix
    of a schema registry.  `arrow`: an Arrow IPC stream with any number of tuples.  `raw`: text, as the attribute
    `value`.  `start`: where a new checkpoint begins: earliest, latest, or offsets by partition (with several topics, by
    topic and partition).  `include`: which of key, partition, offset, timestamp, headers (as JSON) and topic become
    attributes; the schema must have them under these names.  `on_expired`: "fail" or "dead_letter", for offsets that
    Kafka deleted before they were read.  `patience_s`: how long brokers may be unreachable; None: for ever.
    `options`: further settings of librdkafka, such as those of SASL and TLS; never stored, logged or shown.

    >>> kafka("localhost:9092", "trades", start={0: 100}).start
    '{"0": 100}'
    """
    topics = (topic,) if isinstance(topic, str) else topic
    check_arguments(
        "ps.sources.kafka", servers=(servers, TEXT), topic=(topics, many("a topic's name, or several", TEXT)),
        format=(format, TEXT), on_expired=(on_expired, TEXT), include=(include, many("a list of names", TEXT)),
        patience_s=(patience_s, or_none(number(least=0))), start=(start, _START),
        options=(options, secret(or_none(_OPTIONS))),
        avro_schema=(avro_schema, or_none(kind("an Avro schema as JSON text or a dict", str, dict))),
    )  # fmt: skip
    if not topics or not all(topics):
        raise InputError(f"ps.sources.kafka needs a topic; got {'none' if not topics else 'an empty name'}")
    if not servers:
        raise InputError("servers of ps.sources.kafka is a text such as 'localhost:9092'; got an empty one")
    require("ps.sources.kafka", "kafka")
    begin = start if isinstance(start, str) else _as_json("start", start)
    avro = avro_schema if avro_schema is None or isinstance(avro_schema, str) else _as_json("avro_schema", avro_schema)
    return KafkaSource(
        servers, tuple(topics), format, begin, tuple(include), avro, on_expired, patience_s, dict(options or {})
    )


def _as_json(name: str, value: object) -> str:
    try:
        return dumps(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} of ps.sources.kafka is what JSON has; got {shown(value)}: {error}") from error


@checked_call("ps.sources.rate")
def rate(rows_per_second: int = 1) -> RateSource:
    """Spark's rate source: `value` counts from 0, `timestamp` is the moment a row was made (UTC).

    >>> rate(100).schema.names
    ['timestamp', 'value']
    """
    return RateSource(rows_per_second)


@checked_call("ps.sources.trace")
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
    """Synthetic trades and quotes that can be replayed: the tuple at an offset is always the same.

    `rate`: how the rate changes: constant, step, spike, diurnal, random_walk, trading_day, unbounded (as fast as the
    engine reads), or CSV files with the columns timestamp and value, or seconds and rate; of several files each has
    the rate of one key.  `rate_tuples_s`: the mean rate, 150,000 by default; files have their own, times `speed_up`.
    `key_distribution`: uniform, zipf, or traces (a key per file; the default for several files).  `total`: how many
    tuples there are; None: no end.  `function` makes the tuples for an array of offsets, instead of seq, ticker, ttype,
    price and volume.

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
    where = "a file of ps.sources.trace"
    if isinstance(rate, str | Path):
        rate = local_path(rate, where) if isinstance(rate, str) else Path(local_path(rate, where))
        is_file = str(rate) not in RATES and (isinstance(rate, Path) or bool(Path(rate).suffix) or os.path.exists(rate))
        return (str(rate),) if is_file else str(rate)
    if not isinstance(rate, Sequence) or not all(isinstance(file, str | Path) for file in rate):
        hint = f"; for tuples a second use rate_tuples_s={rate!r}" if is_number(rate) else ""
        raise InputError(f"a trace's rate is a name or CSV files; got {shown(rate)}{hint}")
    return tuple(local_path(file, where) for file in rate)


if not TYPE_CHECKING:  # which finds names that are not there itself

    def __getattr__(name: str) -> Any:
        raise no_attribute("penstock.sources", name, __all__)


def __dir__() -> list[str]:
    return __all__
