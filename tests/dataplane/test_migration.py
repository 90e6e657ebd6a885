"""Slots that move between hosts, however they do and whatever dies: equal to the in-process engine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.schema import schema_of
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.runtime.delivery.sink_delivery import SinkDelivery
from penstock.runtime.driver.batch_result import BatchResult
from penstock.runtime.migration.migration import AT_ONCE, MIGRATIONS, PRE_COPY, REPLICAS_WAIT, SPLITTER_HOLDS
from penstock.state.checkpoint.batch_plan import BatchPlan
from tests.dataplane.hosts import HostsPlane
from tests.dataplane.test_operators import KEYED, aggregated, joined, numbered
from tests.reference.python_functions import plain_rows
from tests.reference.streams import TRADES, trades

kills = st.sampled_from([0.0, 0.2])


def to_files(graph: Graph, folder: Path) -> Graph:
    """The graph with files in no order in place of its sinks."""
    operators = [
        replace(o, connector=ps.sinks.parquet(folder / o.name)) if isinstance(o, ops.Sink) else o
        for o in graph.operators
    ]
    return replace(graph, operators=tuple(operators))


def by_key(rows: list[dict[str, Any]], key: str) -> dict[Any, list[str]]:
    """Each key's rows, in the order in which they stand."""
    found: dict[Any, list[str]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(repr(row))
    return found


def written(folder: Path, schema: pa.Schema) -> list[dict[str, Any]]:
    """All rows of a sink's files, batch by batch."""
    tables = [pq.read_table(file) for file in sorted(folder.glob("*.parquet"))]
    return plain_rows(pa.concat_tables(tables).cast(schema)) if tables else []


@pytest.mark.parametrize("kind", ["sliding", "steps", "delta", "stream"])
@given(table=trades(), seed=st.integers(0, 2**32), kills=kills)
def test_in_order(kind: str, table: pa.Table, seed: int, kills: float) -> None:
    """Where a sink keeps the total order, no tuple is put off whatever the way is."""
    check_in_order(aggregated(*KEYED[kind]).graph, table, seed, kills)


@pytest.mark.parametrize("make", [joined, numbered])
@given(table=trades(), seed=st.integers(0, 2**32), kills=kills)
@settings(max_examples=10)
def test_other_state_in_order(make: Callable[[], ps.Application], table: pa.Table, seed: int, kills: float) -> None:
    check_in_order(make().graph, table, seed, kills)


def check_in_order(graph: Graph, table: pa.Table, seed: int, kills: float) -> None:
    expected = ps.evaluate(graph, {"trades": table})
    with tempfile.TemporaryDirectory() as directory:
        plane = HostsPlane(graph, {"trades": table}, Path(directory), seed, kills)
        got, _ = plane.run_all()
    assert plane.waited == 0
    for name, wanted in expected.items():
        assert repr(plain_rows(got[name])) == repr(plain_rows(wanted)), name


def windows() -> ps.Application:
    """Two windows by one key in one element, and a third by another."""
    app = ps.Application("windows")
    source = app.source("trades", schema=TRADES)
    emit = {"key": "any(key)", "x": "sum(x)", "n": "last(n)"}
    results = source.aggregate("window", window=ps.sliding(count=3, per_group=True), by="key", emit=emit)
    results.sink("out")
    again = {"key": "any(key)", "x": "sum(x)", "n": "count()"}
    results.aggregate("again", window=ps.sliding(count=2, per_group=True), by="key", emit=again).sink("fused")
    other = {"key": "any(name)", "n": "sum(n)"}
    source.aggregate("last", window=ps.sliding(count=2, per_group=True), by="name", emit=other).sink("other")
    return app


class WritingPlane(HostsPlane):
    """Publishes the files that replicas have staged, as a driver does once the batch's manifest names them."""

    def _keep(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        super()._keep(plan, result, measured)
        folder, run_id = self.checkpoint.staged, self.fixed.checkpoint_id
        delivery = SinkDelivery(self.fixed.graph, run_id=run_id, folder=folder, epoch=self.epoch)
        delivery.publish(plan.batch, result.parts)


def run_by_key(table: pa.Table, seed: int, kills: float, ways: tuple[str, ...]) -> HostsPlane:
    graph = windows().graph
    expected = ps.evaluate(graph, {"trades": table})
    with tempfile.TemporaryDirectory() as directory:
        files = Path(directory) / "files"
        plane = WritingPlane(to_files(graph, files), {"trades": table}, Path(directory), seed, kills, ways)
        plane.run_all()
        for name, wanted in expected.items():
            assert by_key(written(files / name, wanted.schema), "key") == by_key(plain_rows(wanted), "key"), name
    return plane


@pytest.mark.parametrize("ways", [*[(way,) for way in MIGRATIONS], MIGRATIONS])
@given(table=trades(), seed=st.integers(0, 2**32), kills=kills)
def test_by_key(ways: tuple[str, ...], table: pa.Table, seed: int, kills: float) -> None:
    """Files in no order have the rows of each key in their order, whatever was put off."""
    run_by_key(table, seed, kills, ways)


def many_trades(rows: int = 160) -> pa.Table:
    trades = [{"key": f"k{i % 23}", "name": f"n{i % 7}", "x": i / 4, "n": i % 11, "u": i, "flag": i % 2 == 0, "t": i}
              for i in range(rows)]  # fmt: skip
    return pa.Table.from_pylist(trades, schema_of(TRADES))


@pytest.mark.parametrize("seed", range(4))
def test_by_key_over_many_batches(seed: int) -> None:
    run_by_key(many_trades(), seed, 0.1, MIGRATIONS)


def test_every_way_does_what_it_is_for() -> None:
    """Pre-copy stays until slots are there, and puts nothing off but for lost hosts; the others never stay."""
    found = {way: run_by_key(many_trades(), 0, 0.0, (way,)) for way in MIGRATIONS}
    assert found[PRE_COPY].stayed
    assert found[PRE_COPY].copied
    assert all(own.released for own in found.values())
    assert found[AT_ONCE].waited
    assert found[SPLITTER_HOLDS].waited
    assert all(own.resumed == own.waited for own in found.values())
    assert found[REPLICAS_WAIT].stayed == found[AT_ONCE].stayed == 0
