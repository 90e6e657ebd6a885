"""A stream of an application as a streaming DataFrame: it can stand in the middle of a Structured Streaming job."""

from __future__ import annotations

import atexit
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock import sinks
from penstock.app.operators import Sink
from penstock.app.stream import Stream
from penstock.arguments import PATH, check_arguments, checked_call, kind, or_none
from penstock.connectors.sinks.plain_types import plain_schema
from penstock.errors import InputError
from penstock.host.directories import scratch_folder
from penstock.spark.driver.start import start
from penstock.spark.session.session import local_url


@checked_call("ps.to_dataframe")
def to_dataframe(
    stream: Stream,
    *,
    checkpoint: str | Path | None = None,
    session: SparkSession | None = None,
    **options: Any,
) -> DataFrame:
    """Starts the stream's application and returns the stream as a streaming DataFrame of the same session.

    The application gets one more sink: Parquet files in a folder beside the checkpoint, which the DataFrame reads.  A
    query over it with a checkpoint of its own sees each tuple once, whatever fails on either side.  Timestamps are
    Spark's `timestamp`, numbers without a sign have the next wider type.  `checkpoint`, `session` and further options
    are those of `ps.start`; `frame.penstock` is the handle that it gives.  Without a checkpoint, the files are removed
    when the process ends.

    >>> import penstock as ps
    >>> app = ps.Application("cheap")
    >>> trades = app.source("trades", ps.sources.trace(rate_tuples_s=1000))
    >>> frame = ps.to_dataframe(trades.functor("cheap", where="price < 20"))  # doctest: +SKIP
    >>> frame.groupBy("ticker").count().writeStream.format("console").start()  # doctest: +SKIP
    >>> frame.penstock.stop()  # doctest: +SKIP
    """
    check_arguments(
        "ps.to_dataframe", stream=(stream, kind("a stream of an application", Stream)),
        checkpoint=(checkpoint, or_none(PATH)), session=(session, or_none(kind("a SparkSession", SparkSession))),
    )  # fmt: skip
    home = _scratch() if checkpoint is None else Path(str(checkpoint)).absolute()
    folder = _with_sink(stream, home)
    handle = start(stream.application, checkpoint=home, session=session, **options)
    folder.mkdir(parents=True, exist_ok=True)
    schema = from_arrow_schema(plain_schema(stream.schema))
    frame = handle.session.readStream.schema(schema).parquet(local_url(str(folder)))
    frame.penstock = handle  # type: ignore[attr-defined]
    return frame


def _scratch() -> Path:
    scratch = scratch_folder()
    atexit.register(scratch.remove)
    return Path(scratch.path, "checkpoint")


def _with_sink(stream: Stream, checkpoint: Path) -> Path:
    """The folder that the stream is written to, with a sink that the application gets the first time."""
    operators = stream.application.operators
    name = f"{stream.name.replace('.', '_')}_dataframe"
    sink = sinks.parquet(checkpoint.with_name(f"{checkpoint.name}-{name}"))
    (known,) = [own for own in operators if own.name == name] or [None]
    if known is None:
        stream.sink(name, sink)
    elif not isinstance(known, Sink) or known.connector != sink:
        raise InputError(
            f"ps.to_dataframe writes the stream '{stream.name}' by a sink '{name}' to '{sink.path}', and the "
            "application has an operator of this name; build it anew for another checkpoint, or rename the operator"
        )
    return Path(sink.path)
