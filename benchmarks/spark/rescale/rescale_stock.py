"""Spark's own way to more state partitions: stop the query, repartition its checkpoint, start it again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.report import Show
from benchmarks.spark.vwap.stock import STATEFUL, STOCK_CONF, why_not
from benchmarks.spark.vwap.stock_tuples import TRADES_SQL, Frame
from penstock import sources
from penstock.connectors.trace.source import TraceSource
from penstock.testing import local_session

FEW, MANY = 2, 4
_BLOCKS_A_BATCH = 4


@dataclass(frozen=True, slots=True)
class StockEffort:
    """Keys of state, tuples of a micro-batch, batches at full and at half rate, and the time that all may take."""

    keys: int = 100_000
    batch_tuples: int = 20_000
    full_batches: int = 4
    half_batches: int = 4
    limit_s: float = 600.0


FULL_STOCK = StockEffort()


@dataclass(frozen=True, slots=True)
class SparkRescale:
    """What it took; all None but `because` where it could not be done."""

    way: str
    keys: int
    gap_ms: float | None = None
    steady_ms: float | None = None
    stop_ms: float | None = None
    repartition_ms: float | None = None
    restart_ms: float | None = None
    rate_tuples_s: float | None = None
    because: str = ""

    @property
    def tuples_late(self) -> int | None:
        """Tuples that came due while there were no results, beyond one interval."""
        if self.gap_ms is None or self.steady_ms is None or self.rate_tuples_s is None:
            return None
        return round(max(self.gap_ms - self.steady_ms, 0.0) / 1000 * self.rate_tuples_s)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "tuples_late": self.tuples_late}

    def row(self) -> tuple[str, ...]:
        cells = (self.gap_ms, self.steady_ms, None, self.tuples_late, self.rate_tuples_s, self.keys)
        return f"Spark, {self.way}", *("-" if cell is None else f"{cell:,.0f}" for cell in cells), "-"

    def note(self) -> str:
        if self.gap_ms is None:
            return f"Spark's own way was not measured: {self.because}"
        return (f"Spark's own way: stop {self.stop_ms:,.0f} ms, repartition {self.repartition_ms:,.0f} ms, start to "
                f"first result {self.restart_ms:,.0f} ms")  # fmt: skip


@dataclass(slots=True)
class _Run:
    """A query that can be started again on its checkpoint; `ends_s` are the moments of its results."""

    session: Any
    way: str
    effort: StockEffort
    folder: Path
    show: Show
    deadline_s: float
    ends_s: list[float] = field(default_factory=list)

    def start(self, every_ms: float = 0.0) -> Any:
        results = STATEFUL[self.way](self._trades())
        writer = results.writeStream.foreachBatch(self._each_batch).outputMode("append")
        writer = writer.option("checkpointLocation", str(self.folder))
        return writer.trigger(processingTime=f"{max(int(every_ms), 0)} milliseconds").start()

    def wait(self, query: Any, batches: int, what: str) -> None:
        """Until so many more results are there."""
        wanted = len(self.ends_s) + batches
        while len(self.ends_s) < wanted:
            self.show(f"Spark's own way: {what}, {len(self.ends_s) - wanted + batches} of {batches} micro-batches")
            if time.monotonic() > self.deadline_s:
                raise TimeoutError(f"{what} took too long")
            if query.awaitTermination(0.02):
                raise RuntimeError("the query ended")

    def wait_until_idle(self, query: Any) -> None:
        """Until the micro-batch is committed: Spark repartitions no checkpoint whose last one is not."""
        while query.status["isTriggerActive"] and time.monotonic() < self.deadline_s:
            time.sleep(0.005)

    def _each_batch(self, frame: Frame, batch: int) -> None:
        frame.selectExpr("count(*)").collect()
        self.ends_s.append(time.monotonic())

    def _trades(self) -> Frame:
        source = self.session.readStream.format("rate-micro-batch").option("rowsPerBatch", _BLOCKS_A_BATCH)
        numbers = source.option("numPartitions", FEW).load().select("value")
        trace = sources.trace(rate="unbounded", keys=self.effort.keys, ticker="int32")
        return numbers.mapInArrow(partial(_filling_trades, trace, self.effort), TRADES_SQL)


def _filling_trades(
    trace: TraceSource, effort: StockEffort, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The first micro-batch has each key once, so that all have state; the others have tuples of the trace."""
    opened, rows = trace.open(), effort.batch_tuples // _BLOCKS_A_BATCH
    for batch in batches:
        for number in batch.column(0).to_pylist():
            if number < _BLOCKS_A_BATCH:
                edges = (effort.keys * number // _BLOCKS_A_BATCH, effort.keys * (number + 1) // _BLOCKS_A_BATCH)
                ticker = np.arange(*edges, dtype=np.int32)
                block = opened.block(*edges)
            else:
                block = opened.block(effort.keys + number * rows, effort.keys + (number + 1) * rows)
                ticker = block.ticker
            columns = (block.seq, ticker, block.price, block.volume, ticker % np.int32(FEW))
            names = ["seq", "ticker", "price", "volume", "part"]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=names)


def rescale_stock(effort: StockEffort, folder: Path, show: Show) -> SparkRescale:
    """At half of the highest rate, by the row-based transformWithState; without protobuf by applyInPandasWithState."""
    way = "transformWithState (rows)" if not why_not("transformWithState") else "applyInPandasWithState"
    with local_session(conf=STOCK_CONF, task_slots=MANY) as session:
        run = _Run(session, way, effort, folder, show, time.monotonic() + effort.limit_s)
        try:
            return _measured(run)
        except Exception as error:  # whatever Spark raises is a result: it is said, and the bench goes on
            return SparkRescale(way, effort.keys, because=" ".join(str(error).split())[:300])


def _measured(run: _Run) -> SparkRescale:
    batch_ms = _interval_ms(run, 1 + run.effort.full_batches, "highest rate", 0.0)
    steady_ms = _interval_ms(run, run.effort.half_batches, "half of the highest rate", 2 * batch_ms)
    last_s, stopped_s = run.ends_s[-1], time.monotonic()
    run.show("Spark's own way: repartitioning the checkpoint")
    run.session._streamingCheckpointManager.repartition(str(run.folder), MANY)
    repartitioned_s = time.monotonic()
    _interval_ms(run, 1, "first result after the restart", 2 * batch_ms)
    first_s = next(end_s for end_s in run.ends_s if end_s > repartitioned_s)
    return SparkRescale(
        run.way, run.effort.keys, _ms(first_s - last_s), round(steady_ms, 1), _ms(stopped_s - last_s),
        _ms(repartitioned_s - stopped_s), _ms(first_s - repartitioned_s),
        round(run.effort.batch_tuples / (steady_ms / 1000)),
    )  # fmt: skip


def _interval_ms(run: _Run, batches: int, what: str, every_ms: float) -> float:
    """The median time between results of a query that is started, gives so many more and is stopped."""
    already = len(run.ends_s)
    query = run.start(every_ms)
    try:
        run.wait(query, batches, what)
        if every_ms:
            run.wait_until_idle(query)
    finally:
        query.stop()
    ends_s = run.ends_s[already : already + batches]
    return float(np.median(np.diff(ends_s[1:] if every_ms == 0 else ends_s))) * 1000 if batches > 1 else 0.0


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
