"""A batch whose manifest is published is never computed again: a restart only finishes the delivery of its parts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.connectors.port import BatchId
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.runtime.delivery.sink_delivery import SinkDelivery
from penstock.runtime.delivery.sink_folders import claim_folders, run_of, sweep_sinks
from penstock.runtime.driver.batch_result import BatchResult
from penstock.runtime.exchange.message import Message
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.manifests import Parts
from tests.dataplane.plane import Killed, Plane

POINTS = ("computed", "staged", "published", "first sink", "delivered")


class DrivenPlane(Plane):
    """Micro-batches with a driver's sinks; the driver dies at a point of every batch, once."""

    def __init__(self, app: ps.Application, tables: dict[str, pa.Table], folder: Path, point: str) -> None:
        super().__init__(app.graph, tables, folder, seed=3, kills=0.0)
        self.app_graph, self.point, self.deaths = app.graph, point, set[int]()
        self.computed: Counter[int] = Counter()
        self.stage, self.finish, self._is_staged = self._staged, self._finished, True
        claim_folders(self.fixed.graph, None, run_of(self.checkpoint, self.fixed.checkpoint_id, is_new=True))
        self._restart()

    def _restart(self) -> None:
        """As a start does: what no manifest names is swept, and the newest batch is read from its manifest."""
        sweep_sinks(self.fixed.graph, self.checkpoint, self.epoch)
        self.delivery = SinkDelivery(
            self.app_graph, run_id=self.fixed.checkpoint_id, folder=self.checkpoint.staged, epoch=self.epoch
        )
        self._known = self._newest()

    def run(self, frame: object, batch: int) -> None:  # type: ignore[override]
        if batch in self.deaths:
            self._restart()
        super().run(frame, batch)  # type: ignore[arg-type]

    def run_tasks(self, frame: object, plan: BatchPlan) -> Iterator[Message]:
        self.computed[plan.batch] += 1
        yield from super().run_tasks(frame, plan)

    def _staged(self, plan: BatchPlan, result: BatchResult) -> None:
        self._reach("computed", plan.batch)
        result.parts.update((name, list(own)) for name, own in self.delivery.stage(plan.batch, result.blocks).items())
        self._reach("staged", plan.batch)

    def _keep(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        self._reach("published", plan.batch)
        if self.point == "first sink" and plan.batch not in self.deaths:
            first = self.app_graph.sinks[0].name
            self.delivery._published(plan.batch, first, tuple(result.parts.get(first, ())))
        self._reach("first sink", plan.batch)
        self.delivery.publish(plan.batch, result.parts)
        self._reach("delivered", plan.batch)

    def _finished(self, batch: int, parts: Parts, plan: BatchPlan | None) -> None:
        assert plan is not None
        self.delivery.publish(batch, parts)

    def _reach(self, point: str, batch: int) -> None:
        if point == self.point and batch not in self.deaths:
            self.deaths.add(batch)
            raise Killed


@pytest.mark.parametrize("point", POINTS)
def test_what_counts_is_delivered_and_not_computed_again(point: str, tmp_path: Path) -> None:
    calls: list[tuple[BatchId, list[int]]] = []

    def kept(table: pa.Table, batch: BatchId) -> None:  # type: ignore[type-arg,unused-ignore]
        calls.append((batch, table["x"].to_pylist()))

    app = ps.Application("driven")
    ticks = app.source("ticks", schema={"k": "int64", "x": "int64"})
    window = ps.sliding(count=2, per_group=True)
    sums = ticks.aggregate("window", by="k", window=window, emit={"k": "any(k)", "x": "sum(x)"})
    sums.sink("dealt", ps.sinks.parquet(tmp_path / "dealt"))
    sums.sink("text", ps.sinks.csv(tmp_path / "text"))
    sums.sink("called", ps.sinks.callback(kept))  # type: ignore[arg-type]
    table = pa.table({"k": [n % 5 for n in range(120)], "x": list(range(120))})
    plane = DrivenPlane(app, {"ticks": table}, tmp_path / "run", point)
    plane.run_all()

    counts = point in ("published", "first sink", "delivered")
    assert set(plane.computed.values()) == {1 if counts else 2}
    assert plane.deaths == set(plane.computed)
    finite = ps.Application("finite")
    ticks = finite.source("ticks", schema={"k": "int64", "x": "int64"})
    ticks.aggregate("window", by="k", window=window, emit={"k": "any(k)", "x": "sum(x)"}).sink("out")
    wanted = ps.evaluate(finite, {"ticks": table})["out"]["x"].to_pylist()
    assert [
        n for path in sorted((tmp_path / "text").glob("*.csv")) for n in pa.csv.read_csv(path)["x"].to_pylist()
    ] == wanted
    assert sorted(pq.read_table(tmp_path / "dealt")["x"].to_pylist()) == sorted(wanted)
    by_batch = dict(calls)
    assert [n for batch in sorted(by_batch) for n in by_batch[batch]] == wanted
    assert all(by_batch[batch] == own for batch, own in calls), "a batch that comes again has the same tuples"
    assert list((tmp_path / "dealt" / ".penstock").iterdir()) == []


@dataclass(frozen=True)
class Lines:
    """A sink whose parts replicas stage in the checkpoint; it appends rows to a file, each so many times."""

    target: str
    times: int = 1
    promise = ps.sinks.SinkPromise("exactly once", "replicas", in_order=False)

    def claim(self, claim: ps.sinks.Claim) -> None:
        pass

    def open(self, part: ps.sinks.Part) -> Any:
        return part.stage()

    def write(self, opened: Any, tuples: Any) -> None:
        for _ in range(self.times):
            opened.write(tuples)

    def publish(self, delivery: ps.sinks.Delivery) -> None:
        rows = [row for batch in delivery.batches() for row in batch.to_pylist()]
        with open(self.target, "a") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in rows)

    def sweep(self, sweep: ps.sinks.Sweep) -> None:
        pass


def test_several_sinks_of_a_task_have_parts_of_their_own(tmp_path: Path) -> None:
    app = ps.Application("several")
    ticks = app.source("ticks", schema={"k": "int64", "x": "int64"})
    sums = ticks.aggregate(
        "window", by="k", window=ps.sliding(count=2, per_group=True), emit={"k": "any(k)", "x": "sum(x)"}
    )
    targets = {name: tmp_path / name for name in ("first", "second", "other")}
    sums.sink("first", Lines(str(targets["first"])))
    sums.sink("second", Lines(str(targets["second"]), times=2))
    sums.functor("negated", emit={"negated": "0 - x"}).sink("a/b " + "c" * 300, Lines(str(targets["other"])))
    table = pa.table({"k": [n % 5 for n in range(120)], "x": list(range(120))})
    DrivenPlane(app, {"ticks": table}, tmp_path / "run", "").run_all()

    finite = ps.Application("finite")
    ticks = finite.source("ticks", schema={"k": "int64", "x": "int64"})
    ticks.aggregate(
        "window", by="k", window=ps.sliding(count=2, per_group=True), emit={"k": "any(k)", "x": "sum(x)"}
    ).sink("out")
    wanted = sorted(row["x"] for row in ps.evaluate(finite, {"ticks": table})["out"].to_pylist())
    found = {name: [json.loads(line) for line in path.read_text().splitlines()] for name, path in targets.items()}
    assert sorted(row["x"] for row in found["first"]) == wanted
    assert sorted(row["x"] for row in found["second"]) == sorted(2 * wanted)
    assert sorted(-row["negated"] for row in found["other"]) == wanted
