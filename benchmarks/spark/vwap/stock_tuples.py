"""The trace's trades as rows of a stock streaming DataFrame, and the sums by which all results are compared.

Nothing here needs Penstock's data plane: a row of Spark's own `rate-micro-batch` source stands for a block of offsets,
and `mapInArrow` makes its tuples, of which only the trades go on, as one would write it for speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.block.block import Block
from penstock.connectors.trace.source import TraceSource

BLOCK_TUPLES = 10_000
TRADES_SQL = "seq long, ticker int, price double, volume double, part int"
RESULTS_SQL = (
    "ticker int, n int, low double, high double, mean double, notional double, volume double, vwap double, cents double"
)
RESULTS = ("ticker", "n", "low", "high", "mean", "notional", "volume", "vwap", "cents")
_MODULUS = 2147483647
# Integers only: prices are whole cents and volumes whole shares, so this is exact and does not depend on the order.
MIXED_SQL = (
    f"sum(pmod(cast(ticker as bigint) * 1000003 + cast(round(low * 100) as bigint) * 10007 + cast(round(high * 100) "
    f"as bigint) * 101 + cast(volume as bigint) * 13 + cast(round(cents) as bigint) * 7 + n, {_MODULUS}))"
)
SUMS_SQL = ("count(*)", MIXED_SQL, "sum(vwap)", "sum(mean)")
Frame = Any  # a pyspark DataFrame; only penstock.spark imports pyspark


@dataclass(frozen=True, slots=True)
class Sums:
    """Results summed up: how many, a sum over their integers mixed, and sums of floating-point columns."""

    results: int = 0
    mixed: int = 0
    vwap: float = 0.0
    mean: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.results + other.results, self.mixed + other.mixed, self.vwap + other.vwap, self.mean + other.mean
        )

    def equals(self, other: Sums) -> bool:
        """Integers exactly, floating-point sums but for the order of additions."""
        close = partial(math.isclose, rel_tol=1e-9)
        exact = (self.results, self.mixed) == (other.results, other.mixed)
        return exact and close(self.vwap, other.vwap) and close(self.mean, other.mean)


def sums_of(frame: Frame) -> Sums:
    """The sums over a frame of results, by Spark: the batch's one action."""
    count, mixed, vwap, mean = frame.selectExpr(*SUMS_SQL).collect()[0]
    return Sums(count, mixed or 0, vwap or 0.0, mean or 0.0)


def sums_of_blocks(blocks: Iterable[Block]) -> Sums:
    """The same over blocks of ours."""
    total = Sums()
    for block in blocks:
        total += sums_of_batch(block.to_arrow())
    return total


def sums_of_batch(batch: pa.RecordBatch) -> Sums:
    of = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in RESULTS}
    low, high, cents = (_whole(of[name] * factor) for name, factor in (("low", 100), ("high", 100), ("cents", 1)))
    mixed = of["ticker"].astype(np.int64) * 1000003 + low * 10007 + high * 101
    mixed += _whole(of["volume"]) * 13 + cents * 7 + of["n"]
    return Sums(batch.num_rows, int((mixed % _MODULUS).sum()), float(of["vwap"].sum()), float(of["mean"].sum()))


def _whole(values: np.ndarray) -> np.ndarray:
    whole: np.ndarray = np.rint(values).astype(np.int64)
    return whole


def stock_trades(session: Any, trace: TraceSource, batch_tuples: int, tasks: int = 2) -> Frame:
    """A streaming DataFrame of the trades of `batch_tuples` tuples in each micro-batch."""
    blocks = max(1, batch_tuples // BLOCK_TUPLES)
    source = session.readStream.format("rate-micro-batch").option("rowsPerBatch", blocks)
    numbers = source.option("numPartitions", tasks).load().select("value")
    return numbers.mapInArrow(trade_maker(trace, tasks), TRADES_SQL)


def trade_maker(trace: TraceSource, tasks: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Block numbers -> the trades of these blocks, each with the task that a mapInArrow behind it would take it to."""
    return partial(_trades, trace, tasks)


def _trades(trace: TraceSource, tasks: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    opened = trace.open()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            block = opened.block(number * BLOCK_TUPLES, (number + 1) * BLOCK_TUPLES)
            is_trade = block.ttype == 0
            columns = [c[is_trade] for c in (block.seq, block.ticker, block.price, block.volume)]
            columns.append(columns[1] % np.int32(tasks))
            names = ["seq", "ticker", "price", "volume", "part"]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=names)
