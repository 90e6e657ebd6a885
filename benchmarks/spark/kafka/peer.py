"""What a peer did with the topic, and the sums by which its results are compared with ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.spark.vwap.stock_tuples import RESULTS, Sums, sums_of_batch


@dataclass(frozen=True, slots=True)
class PeerRun:
    """`tuples`: of how many it gave the results; its rate is None where it was not done with enough of them."""

    name: str
    tuples_s: float | None
    tuples: int
    sums: Sums

    def is_equal(self, tuples: int, expected: Sums) -> bool:
        """Whether it has the results of all tuples, and the same ones."""
        return self.tuples == tuples and self.sums.equals(expected)


def numbered(batch: pa.RecordBatch, words: list[str]) -> Sums:
    """The sums of results whose tickers are words: each counts as its place among all of them."""
    table = pa.Table.from_batches([batch]).select(list(RESULTS))
    numbers = pc.index_in(table["ticker"].cast(pa.string()), pa.array(words)).combine_chunks()
    columns = [numbers.cast(pa.int32()) if name == "ticker" else table[name].combine_chunks() for name in RESULTS]
    return sums_of_batch(pa.RecordBatch.from_arrays([_flat(own) for own in columns], names=list(RESULTS)))


def _flat(column: pa.Array) -> pa.Array:
    return pa.array(np.asarray(column))


def best_of(runs: Sequence[PeerRun]) -> float | None:
    """The highest rate of some ways."""
    return max((run.tuples_s for run in runs if run.tuples_s is not None), default=None)
