"""Stock PySpark at `vwap_per_ticker` from a topic: Spark's own connector, and two ways of keeping windows."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from benchmarks.report import Show
from benchmarks.spark.kafka.peer import PeerRun
from benchmarks.spark.vwap.stock import STATEFUL, STOCK_CONF, VECTORISED
from benchmarks.spark.vwap.stock_tuples import TRADES_SQL, Frame, Sums, sums_of
from benchmarks.spark.vwap.stock_vectorised import by_map_in_arrow
from penstock.testing import local_session

WAYS = (VECTORISED, "applyInPandasWithState")
JSON_SQL = "seq long, ticker string, ttype string, price double, volume double"
_SPARK = "org.apache.spark"
_CONNECTOR, _TOKENS = "spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13"
_CLIENTS = [("org.apache.kafka", "kafka-clients", "3.9.0"), ("org.apache.commons", "commons-pool2", "2.12.0")]
_NEWEST = "4.2.0", "4.0.0"  # of connector and tokens, where there are none of PySpark's version


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tuples of the topic and of a micro-batch, the time of a run, and the same of the run before it that warms up."""

    tuples: int
    batch_tuples: int
    limit_s: float
    warm_tuples: int
    warm_batch_tuples: int
    warm_s: float


def stock_runs(
    servers: str, topic: str, warm: str, words: list[str], sizes: Sizes, folder: Path, show: Show
) -> list[PeerRun] | str:
    """Each way over the whole topic, as far as it came in its time; a sentence where there is no connector.

    Before it, the same way reads the topic `warm` in small micro-batches, as ours does: the JVM is as warm.
    """
    found = connector_jars(show)
    if isinstance(found, str):
        return found
    jars, of_version = found
    runs = []
    for number, way in enumerate(WAYS):
        with local_session(conf={**STOCK_CONF, "spark.jars": ",".join(map(str, jars))}) as session:
            own, name = folder / f"stock-{number}", f"stock PySpark, {way}"
            small = _trades(session, servers, warm, words, sizes.warm_batch_tuples)
            _run(
                f"{name}, warming up",
                way,
                small,
                sizes.warm_tuples,
                sizes.warm_s,
                folder / f"stock-warm-{number}",
                show,
            )
            frame = _trades(session, servers, topic, words, sizes.batch_tuples)
            run = _run(name, way, frame, sizes.tuples, sizes.limit_s, own, show)
            runs.append(PeerRun(f"{run.name} (connector {of_version})", run.tuples_s, run.tuples, run.sums))
    return runs


def connector_jars(show: Show) -> tuple[list[Path], str] | str:
    """Spark's Kafka connector of PySpark's version, else the newest that is to be had; what went wrong otherwise."""
    from tests.services.kafka_server import JARS, fetch_jars

    show("fetching Spark's Kafka connector")
    problem: str | None = None
    for connector, tokens in ((version("pyspark"),) * 2, _NEWEST):
        folder = JARS.parent / f"spark-kafka-{connector}"
        wanted = [(_SPARK, _CONNECTOR, connector), (_SPARK, _TOKENS, tokens), *_CLIENTS]
        problem = fetch_jars(folder, wanted, alone=True)
        if problem is None:
            return sorted(folder.glob("*.jar")), connector
    return f"stock PySpark: {problem}"


def trades_by_connector(session: Any, servers: str, topic: str, batch_tuples: int) -> Frame:
    """The attributes of JSON messages, parsed by Spark."""
    parsed = _values(session, servers, topic, batch_tuples).selectExpr(f"from_json(string(value), '{JSON_SQL}') trade")
    return parsed.select("trade.*")


def _trades(session: Any, servers: str, topic: str, words: list[str], batch_tuples: int) -> Frame:
    return _values(session, servers, topic, batch_tuples).mapInArrow(partial(_decoded, words), TRADES_SQL)


def _values(session: Any, servers: str, topic: str, batch_tuples: int) -> Frame:
    reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    reader = reader.option("startingOffsets", "earliest").option("kafka.isolation.level", "read_committed")
    return reader.option("maxOffsetsPerTrigger", batch_tuples).load().select("value")


def _decoded(words: list[str], batches: Iterator[pa.RecordBatch], tasks: int = 2) -> Iterator[pa.RecordBatch]:
    """Trades of JSON messages by Arrow's parser, tickers as their numbers."""
    numbers, options = pa.array(words), pyarrow.json.ReadOptions(use_threads=False, block_size=1 << 26)
    for batch in batches:
        if not batch.num_rows:
            continue
        table = pyarrow.json.read_json(io.BytesIO(b"\n".join(batch.column(0).to_pylist())), read_options=options)
        table = table.filter(pc.equal(table["ttype"], "Trade")).combine_chunks()
        ticker = pc.index_in(table["ticker"], numbers)
        part = pc.cast(pc.subtract(ticker, pc.multiply(pc.divide(ticker, tasks), tasks)), pa.int32())
        columns = [table["seq"], ticker, table["price"], table["volume"], part]
        own = pa.table(columns, names=["seq", "ticker", "price", "volume", "part"])
        yield from own.combine_chunks().to_batches()


def _run(name: str, way: str, trades: Frame, tuples: int, limit_s: float, folder: Path, show: Show) -> PeerRun:
    ends_s: list[float] = []
    sums: list[Sums] = []

    def each_batch(frame: Frame, batch: int) -> None:
        sums.append(sums_of(frame if way in STATEFUL else by_map_in_arrow(frame, folder / "windows", batch)))
        ends_s.append(time.monotonic())

    results = STATEFUL[way](trades) if way in STATEFUL else trades
    writer = results.writeStream.foreachBatch(each_batch).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.outputMode("append").trigger(processingTime="0 seconds").start()
    begin_s, rows = time.monotonic(), dict[int, int]()
    try:
        while sum(rows.values()) < tuples and time.monotonic() - begin_s < limit_s and not query.awaitTermination(0.2):
            rows |= {int(own["batchId"]): int(own["numInputRows"]) for own in query.recentProgress}
            show(f"{name}: {sum(rows.values()):,} of {tuples:,} tuples")
    finally:
        query.stop()
    done = min(len(ends_s), len(rows))  # a batch is limited by partition, and seldom has as many as asked for
    taken = sum(rows[batch] for batch in range(done))
    rate = (taken - rows[0]) / (ends_s[done - 1] - ends_s[0]) if done > 1 else None
    return PeerRun(name, rate, taken, sum(sums[:done], Sums()))
