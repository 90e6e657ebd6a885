"""The data plane over sources that Spark reads: rows come batch by batch and partition by partition."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.csv import CsvSource
from penstock.connectors.parquet import ParquetSource
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.runtime.driver.source_arrivals import SourceArrivals
from penstock.runtime.replica.source_rows import packed
from penstock.state.checkpoint.batch_plan import BatchPlan
from tests.dataplane.plane import Killed, Plane

NOW_S = 1_700_000_000.0  # when the first batch is planned
Delivery = Mapping[str, Sequence[pa.Table]]  # by source, a table for each partition; of a directory, for each file


class RowsPlane(Plane):
    """Runs an application over given deliveries, one micro-batch each, a second apart.

    Traces go on beside them, so many tuples a batch.
    """

    def __init__(
        self, graph: Graph, deliveries: Sequence[Delivery], directory: Path, seed: int = 0, kills: float = 0.0,
        trace_tuples: int = 10, **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(graph, None, directory, seed, kills, **settings)
        self.deliveries, self.trace_tuples, self.plans = deliveries, trace_tuples, list[BatchPlan]()
        self.measured: list[MeasuredBatch] = []
        self._files = dict.fromkeys((source.name for source in graph.sources), 0)
        self._delivered: list[dict[str, Any]] = []
        self.now_s = NOW_S
        self.clock = lambda: self.now_s
        self._arrivals = SourceArrivals(graph, lambda: self.now_s)

    def _run_batches(self) -> None:
        self._start = dict.fromkeys(self.cuts.sources, 0)
        for batch, delivery in enumerate(self.deliveries):
            cap = self.trace_tuples * self.cuts.count  # files share it with traces
            self._end = self.cuts.ends(self._start, 0.0, cap)
            self._delivered = [row for name, tables in delivery.items() for row in self._of_source(name, tables)]
            self.between_batches()
            while True:
                try:
                    self.run(None, batch)  # type: ignore[arg-type]
                    break
                except Killed:
                    self.epoch += 1
            self._start, self.now_s = self._end, self.now_s + 1.0

    def _of_source(self, name: str, tables: Sequence[pa.Table]) -> list[dict[str, Any]]:
        source = self.fixed.graph.operator(name)
        assert isinstance(source, Source)
        first = 0
        if isinstance(source.connector, CsvSource | ParquetSource):
            first, self._files[name] = self._files[name], self._files[name] + len(tables)
        rows = []
        for place, table in zip(itertools.count(first), tables):
            batches = table.to_batches(max_chunksize=self.random.choice([1, 5, 1000]))
            for batch in packed(batches, source, place, DeadLetters()):
                rows += batch.to_pylist()
        return rows

    def _rows(self, block_rows: int) -> list[dict[str, Any]]:
        return [*super()._rows(block_rows), *self._delivered]

    def _keep(self, plan: BatchPlan, result: Any, measured: Any) -> None:
        super()._keep(plan, result, measured)
        self.plans.append(plan)
        self.measured.append(measured)
