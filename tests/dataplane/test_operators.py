"""Every operator that keeps state, on the data plane: equal to the in-process engine whatever is changed or dies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.runtime.driver.batch_result import BatchResult
from penstock.state.checkpoint.batch_plan import BatchPlan
from tests.dataplane.plane import Plane
from tests.dataplane.test_graphs import assert_equal
from tests.reference.streams import TRADES, trades

SUMS = {"key": "any(key)", "x": "sum(x)", "n": "count()", "high": "max(n)"}
HELD = {"key": "any(key)", "all": "collect(n)", "names": "count_distinct(name)"}
KEPT = {"key": "any(key)", "all": "collect(n)", "x": "sum(x)", "xs": "collect(x)", "different": "count_distinct(x)"}
KEYED: dict[str, tuple[Any, dict[str, str]]] = {
    "sliding": (ps.sliding(count=3, per_group=True), SUMS),
    "long": (ps.sliding(count=100, per_group=True), SUMS),
    "tumbling": (ps.tumbling(count=2, per_group=True), SUMS),
    "steps": (ps.sliding(count=4, every=2, per_group=True), SUMS),
    "rows": (ps.sliding(count=3, per_group=True), HELD),
    "kept numbers": (ps.sliding(count=4, every=3, per_group=True), KEPT),
    "delta": (ps.sliding(delta=4, on="n", per_group=True), SUMS),
    "time": (ps.sliding(time_s=2, every_s=1, on="t"), SUMS),
    "long time": (ps.sliding(time_s=5, every_s=1, on="t"), {**SUMS, "end": "window_end()", "mean": "avg(x)"}),
    "bars": (ps.tumbling(time_s=1, on="t"), SUMS),
    "seconds": (ps.tumbling(time_s=2, on="x"), {"key": "any(key)", "n": "count()", "from": "window_start()"}),
    "time of rows": (ps.tumbling(time_s=2, on="t"), HELD),
    "sliding rows": (ps.sliding(time_s=3, every_s=1, on="t"), HELD),
    "stream": (ps.sliding(count=5, every=2), SUMS),
}


class Numbered:
    """Counts the tuples of a key."""

    def state(self) -> dict[str, int]:
        return {"seen": 0}

    def process(self, row: dict[str, Any], state: dict[str, int]) -> dict[str, Any] | None:
        state["seen"] += 1
        return {"key": row["key"], "seen": state["seen"]} if state["seen"] % 2 else None


def aggregated(window: Any, emit: dict[str, str]) -> ps.Application:
    app = ps.Application("aggregated")
    source = app.source("trades", schema=TRADES)
    results = source.aggregate("window", window=window, by="key", emit=emit)
    results.sink("out")
    source.aggregate("last", window=ps.sliding(count=2, per_group=True), by="name", emit={"x": "sum(x)"}).sink("other")
    if "x" in emit:
        results.aggregate("again", window=ps.sliding(count=2, per_group=True), by="key", emit={"x": "sum(x)"}).sink(
            "fused"
        )
    return app


def joined() -> ps.Application:
    app = ps.Application("joined")
    source = app.source("trades", schema=TRADES)
    one, two = source.split("sides", {"one": "flag", "two": None})
    window = ps.sliding(count=2, per_group=True)
    emit = {"key": "left.key", "a": "left.n", "b": "right.n"}
    pairs = one.join("pairs", two, left_window=window, right_window=window, on="key", emit=emit)
    pairs.sink("out")
    counted = {"key": "any(key)", "n": "count()"}
    pairs.aggregate("counted", window=ps.sliding(count=3, per_group=True), by="key", emit=counted).sink("counts")
    return app


def numbered() -> ps.Application:
    app = ps.Application("numbered")
    source = app.source("trades", schema=TRADES)
    source.operator("numbered", Numbered(), schema={"key": "string", "seen": "int64"}, by="key").sink("out")
    source.functor("counted", emit={"key": "key", "place": "seq_num()"}).sink("places")
    return app


@pytest.mark.parametrize("kind", KEYED)
@given(table=trades(), seed=st.integers(0, 2**32), kills=st.sampled_from([0.0, 0.2]))
def test_windows(kind: str, table: pa.Table, seed: int, kills: float) -> None:
    assert_equal(aggregated(*KEYED[kind]).graph, {"trades": table}, seed, kills)


@pytest.mark.parametrize("make", [joined, numbered])
@given(table=trades(), seed=st.integers(0, 2**32), kills=st.sampled_from([0.0, 0.2]))
def test_other_operators(make: Callable[[], ps.Application], table: pa.Table, seed: int, kills: float) -> None:
    assert_equal(make().graph, {"trades": table}, seed, kills)


class Timed(Plane):
    """Keeps what was measured of each slot."""

    slots_us: list[tuple[int, ...]]

    def _keep(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        seen = measured.observation(measured.read())
        self.slots_us = [*getattr(self, "slots_us", []), *seen.slot_cpu_us_by_element.values()]
        super()._keep(plan, result, measured)


def test_calls_of_python_by_key_are_timed_by_slot(tmp_path: Path) -> None:
    app = ps.Application("numbered")
    schema = {"key": "int64", "seen": "int64"}
    app.source("trades", schema={"key": "int64"}).operator("n", Numbered(), by="key", schema=schema).sink("out")
    plane = Timed(app.graph, {"trades": pa.table({"key": [1, 1, 2, 3] * 20})}, tmp_path, 1, 0.0)
    plane.run_all()
    busy = [sum(own) for own in zip(*plane.slots_us, strict=True)]
    assert 1 <= sum(us > 0 for us in busy) <= 3
