"""Stock PySpark at the jobs of benchmark `operators`, each as its documentation would have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from benchmarks.spark.operators.operator_files import CLOSING, CLOSING_ROWS

OUT_OF_ORDER_S = 1.0
WINDOW_S = 1.0
JOIN_S = 0.02
_DELAY = f"{OUT_OF_ORDER_S:g} seconds"
Frame = Any  # a pyspark DataFrame


@dataclass(slots=True)
class StockSink:
    """Where results go: `write` begins a query, and what a function was given is counted."""

    folder: Path
    rows: int = 0

    def begin(self, results: Frame, kind: str) -> Any:
        writer = results.writeStream.option("checkpointLocation", str(self.folder / "checkpoint"))
        writer = writer.trigger(processingTime="0 seconds").outputMode("append")
        if kind == "parquet":
            return writer.format("parquet").start(str(self.folder / "out"))
        if kind == "discard":
            return writer.format("noop").start()
        return writer.foreachBatch(self._table if kind == "callback" else self._frame).start()

    def _table(self, frame: Frame, batch: int) -> None:
        self._note(frame.toArrow().num_rows)

    def _frame(self, frame: Frame, batch: int) -> None:
        self._note(count_and_sum(frame))

    def _note(self, rows: int) -> None:
        """Closing rows come in a batch of their own."""
        self.rows += 0 if rows == CLOSING_ROWS else rows


Stock = Callable[[Sequence[Frame]], Frame]


def count_and_sum(frame: Frame) -> int:
    """What the function of a `foreachBatch` does here: one action that reads every column's worth of a sum."""
    found = frame.select(F.count(F.lit(1)), F.sum("price"), F.sum("volume"), F.max("ticker")).collect()[0]
    return int(found[0])


def counted(results: Frame) -> Frame:
    """The same results, and how many there are in each progress report, but for those of closing rows."""
    return results.observe("out", F.count(F.when(~F.col("ticker").startswith(CLOSING), 1)).alias("n"))


def map_blocks(frames: Sequence[Frame]) -> Frame:
    return frames[0].mapInArrow(_notional_of_blocks, "ticker string, notional double")


def map_tuples(frames: Sequence[Frame]) -> Frame:
    notional = F.udf(_notional, "double")
    return frames[0].select("ticker", notional("price", "volume").alias("notional"))


def user_state(frames: Sequence[Frame]) -> Frame:
    grouped = frames[0].select("at", "ticker", "volume").groupBy("ticker")
    schema = "ticker string, total double"
    return grouped.applyInPandasWithState(_keyed_total, schema, "total double", "append", "NoTimeout")


def trades(frames: Sequence[Frame]) -> Frame:
    return frames[0].where("ttype = 'Trade'").select("ticker", "price", "volume")


into_parquet = into_callback = into_function = trades


def windows(frames: Sequence[Frame]) -> Frame:
    frame = frames[0].withWatermark("at", _DELAY)
    grouped = frame.groupBy(F.window("at", f"{WINDOW_S:g} seconds"), "ticker")
    return grouped.agg(F.count(F.lit(1)).alias("n"), F.sum("volume").alias("volume"), F.max("price").alias("high"))


def join(frames: Sequence[Frame]) -> Frame:
    left, right = (frame.withWatermark("at", _DELAY).alias(name) for frame, name in zip(frames, "lr", strict=True))
    near = f"interval {JOIN_S * 1000:g} milliseconds"
    within = f"l.ticker = r.ticker and r.at > l.at - {near} and r.at < l.at + {near}"
    return left.join(right, F.expr(within)).selectExpr("l.ticker", "l.price - r.price as spread")


def several(frames: Sequence[Frame]) -> Frame:
    return windows([frames[0].union(frames[1])])


def _notional_of_blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        notional = pc.multiply(batch.column("price"), batch.column("volume"))
        yield pa.RecordBatch.from_arrays([batch.column("ticker"), notional], names=["ticker", "notional"])


def _notional(price: float, volume: float) -> float:
    return price * volume


def _keyed_total(key: tuple[str], frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """A group comes in several frames, in any order: it is sorted first."""
    parts = list(frames)
    at, volume = (np.concatenate([part[name].to_numpy() for part in parts]) for name in ("at", "volume"))
    totals = np.cumsum(volume[np.argsort(at, kind="stable")]) + (state.get[0] if state.exists else 0.0)
    state.update((float(totals[-1]),))
    yield pd.DataFrame({"ticker": key[0], "total": totals})
