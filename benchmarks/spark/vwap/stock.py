"""Stock PySpark at `vwap_per_ticker`: each way over several sizes of micro-batch, within a budget of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.report import Show
from benchmarks.spark.vwap.stock_state import (
    by_apply_in_pandas_with_state,
    by_transform_with_state_in_pandas,
    by_transform_with_state_rows,
)
from benchmarks.spark.vwap.stock_tuples import BLOCK_TUPLES, Frame, Sums, stock_trades, sums_of
from benchmarks.spark.vwap.stock_vectorised import by_map_in_arrow
from penstock.connectors.trace.source import TraceSource

STATEFUL: dict[str, Callable[[Frame], Frame]] = {
    "transformWithStateInPandas": by_transform_with_state_in_pandas,
    "transformWithState (rows)": by_transform_with_state_rows,
    "applyInPandasWithState": by_apply_in_pandas_with_state,
}
VECTORISED = "mapInArrow, own state files"
WAYS = (*STATEFUL, VECTORISED)
# RocksDB's state store of Spark 4.3 insists on the checksummed local file system, which our own sessions do without.
STOCK_CONF = {
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "2",
}


@dataclass(frozen=True, slots=True)
class Budget:
    """Time for one cell: it ends after `measure_s` of measuring, and after `limit_s` whatever it has reached."""

    measure_s: float
    limit_s: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One way at one size; the first micro-batch warms up and counts only where no other was done in time."""

    way: str
    batch_tuples: int
    ends_s: tuple[float, ...]  # commits, from the start of the query
    sums: Sums
    limit_s: float

    @property
    def tuples(self) -> int:
        """Tuples of all micro-batches that were done."""
        return self.batch_tuples * len(self.ends_s)

    @property
    def tuples_s(self) -> float | None:
        """None where not one micro-batch was done in time."""
        if len(self.ends_s) > 1:
            return self.batch_tuples * (len(self.ends_s) - 1) / (self.ends_s[-1] - self.ends_s[0])
        return self.batch_tuples / self.ends_s[0] if self.ends_s else None

    @property
    def is_cold(self) -> bool:
        return len(self.ends_s) == 1

    def to_json(self) -> dict[str, Any]:
        rate = None if self.tuples_s is None else round(self.tuples_s)
        seconds = round(self.ends_s[-1], 3) if self.ends_s else self.limit_s
        return {"way": self.way, "batch_tuples": self.batch_tuples, "tuples_s": rate, "batches": len(self.ends_s),
                "tuples": self.tuples, "seconds": seconds, "cold": self.is_cold}  # fmt: skip


def why_not(way: str) -> str:
    """What this installation lacks for a way of stock PySpark; empty where it can run."""
    if "transformWithState" in way and (find_spec("google") is None or find_spec("google.protobuf") is None):
        return "needs the package protobuf, which is not installed"
    return ""


def rounded(batch_tuples: int) -> int:
    """A size in whole blocks."""
    return max(1, batch_tuples // BLOCK_TUPLES) * BLOCK_TUPLES


def run_cell(
    session: Any, trace: TraceSource, way: str, batch_tuples: int, budget: Budget, folder: Path, show: Show
) -> Cell:
    """Runs one way at one size until its time is over; micro-batches that are not done by then do not count."""
    ends_s: list[float] = []
    sums: list[Sums] = []
    begin = time.monotonic()

    def each_batch(frame: Frame, batch: int) -> None:
        found = sums_of(frame if way in STATEFUL else by_map_in_arrow(frame, folder / "windows", batch))
        sums.append(found)
        ends_s.append(time.monotonic() - begin)

    trades = stock_trades(session, trace, batch_tuples)
    results = STATEFUL[way](trades) if way in STATEFUL else trades
    writer = results.writeStream.foreachBatch(each_batch).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.outputMode("append").trigger(processingTime="0 seconds").start()
    try:
        _wait(query, ends_s, budget, begin, partial(_shown, show, way, batch_tuples, ends_s))
    finally:
        query.stop()
    done = min(len(ends_s), len(sums))
    return Cell(way, rounded(batch_tuples), tuple(ends_s[:done]), sum(sums[:done], Sums()), budget.limit_s)


def _wait(query: Any, ends_s: list[float], budget: Budget, begin: float, show: Callable[[float], None]) -> None:
    """Until there was time enough between the first commit and the last, or the limit is reached."""
    while (spent_s := time.monotonic() - begin) < budget.limit_s:
        if len(ends_s) > 1 and ends_s[-1] - ends_s[0] >= budget.measure_s:
            return
        show(spent_s)
        if query.awaitTermination(0.2):
            return


def _shown(show: Show, way: str, batch_tuples: int, ends_s: list[float], spent_s: float) -> None:
    show(f"stock {way}, batches of {batch_tuples:,}: {len(ends_s)} micro-batches in {spent_s:.0f} s")
