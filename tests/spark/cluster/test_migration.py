"""Slots that move between the hosts of a real cluster, and Configurations that change at every micro-batch."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock import sinks
from penstock.app.application import Application
from penstock.connectors.kinds import SinkConnector
from penstock.element.evaluation import evaluate
from penstock.plan.configuration import Configuration, ElementConfiguration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.migration import copies, stale_copies
from penstock.runtime.migration.migration import MIGRATIONS, PRE_COPY
from penstock.spark.driver import micro_batch
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start
from penstock.spark.executors.copy_job import run_release
from penstock.spark.executors.pinning import cores_by_host
from tests.faults.runs import check_files
from tests.spark.applications import prices
from tests.spark.cluster.cluster import needs_cluster

long = pytest.mark.skipif("PENSTOCK_STRESS" not in os.environ, reason="takes minutes; run it with `make stress`")


def wanted(app: Application) -> pa.Table:
    trace = app.graph.sources[0].connector
    return evaluate(app, {"quotes": trace.table()})["out"]  # type: ignore[union-attr]


def configured(app: Application, batch_tuples: int) -> Configuration:
    configuration = default_configuration(pipeline_of(app.graph), 2)
    return replace(configuration, block_rows=max(100, batch_tuples // 4), micro_batch_tuples=batch_tuples)


def change_at_every_batch(handle: Handle, configuration: Configuration, ways: tuple[str, ...], seed: int = 1) -> int:
    """Another route over another number of replicas for each batch, as far as batches are seen; gives how many."""
    draw, seen, slots = random.Random(seed), -1, len(configuration.element("window").route)
    changes = 0
    while not handle.wait(0.005):
        observation = handle.observe()
        if observation is not None and observation.batch > seen:
            seen, replicas = observation.batch, draw.randint(1, 4)
            route = tuple(draw.randrange(replicas) for _ in range(slots))
            own = ElementConfiguration("window", replicas, route)
            handle.apply(configuration.with_element(own), migration=draw.choice(ways))
            changes += 1
    return changes


def in_order(session: SparkSession, keys: int, batches: int, batch_tuples: int) -> None:
    app = prices(sinks.memory(), batches * batch_tuples, keys=keys, ticker="int32")
    configuration = configured(app, batch_tuples)
    handle = start(app, session=session, configuration=configuration)
    changes = change_at_every_batch(handle, configuration, (PRE_COPY,))
    result = handle.stop()
    assert len(result.observations) == batches
    assert changes > 0.8 * batches
    assert result.tables["out"].combine_chunks().equals(wanted(app).combine_chunks())


@pytest.mark.parametrize("keys", [1, 1_000])
def test_routes_change_at_every_batch(session: SparkSession, keys: int) -> None:
    in_order(session, keys, 10, 1_500)


@long
@pytest.mark.parametrize("keys", [1, 1_000, 1_000_000])
def test_routes_change_at_every_batch_for_two_hundred_batches(session: SparkSession, keys: int) -> None:
    in_order(session, keys, 200, 10_000 if keys > 1_000 else 1_000)


def wait_for_batch(handle: Handle, batch: int) -> int:
    """Waits until a batch is done, and gives the newest."""
    while True:
        newest = handle.observe()
        if newest is not None and newest.batch >= batch:
            return newest.batch
        assert not handle.wait(0.01), "the application ended first"


def started(session: SparkSession, folder: Path, sink: SinkConnector, tuples: int) -> tuple[Handle, Configuration]:
    app = prices(sink, tuples)
    configuration = configured(app, 1_000)
    return start(app, session=session, checkpoint=folder / "c", configuration=configuration), configuration


@needs_cluster
def test_slots_are_copied_while_the_old_replica_serves_them(
    remote: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "SMALL_BYTES", 0)
    handle, configuration = started(remote, tmp_path, sinks.memory(), 20_000)
    route = configuration.element("window").route
    asked = wait_for_batch(handle, 2)
    moved = tuple(1 - r if slot < 10 or slot > 500 else r for slot, r in enumerate(route))
    target = configuration.with_element(ElementConfiguration("window", 2, moved))
    handle.apply(target)
    wait_for_batch(handle, asked + 8)
    plans = [handle.checkpoint.plan(batch) for batch in range(asked + 1, asked + 8)]
    assert handle.wait(300)
    result = handle.stop()
    waiting = [plan.batch for plan in plans if plan is not None and plan.target == target]
    assert waiting, "it waits for the copy"
    assert all(plan.configuration.element("window").route == route for plan in plans if plan and plan.batch in waiting)
    assert handle.in_force == target
    rebuilt = [o.slots_rebuilt for o in result.observations[2:]]
    assert sum(n > 0 for n in rebuilt) <= 1, "only the first task had something to do"
    assert result.tables["out"].combine_chunks().equals(wanted(prices(sinks.memory(), 20_000)).combine_chunks())


@needs_cluster
def test_hosts_give_back_what_they_no_longer_serve(
    remote: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def noting(*given: Any) -> dict[str, Any]:
        released.append(run_release(*given))
        return released[-1]

    released = list[dict[str, Any]]()
    monkeypatch.setattr(copies, "SMALL_BYTES", 0)
    monkeypatch.setattr(stale_copies, "RETENTION_S", 0.0)
    monkeypatch.setattr(micro_batch, "run_release", noting)
    handle, configuration = started(remote, tmp_path, sinks.memory(), 40_000)
    route = configuration.element("window").route
    for turn in range(3):
        moved = route if turn % 2 else tuple(1 - r if slot < 40 else r for slot, r in enumerate(route))
        handle.apply(configuration.with_element(ElementConfiguration("window", 2, moved)))
        wait_for_batch(handle, wait_for_batch(handle, 2) + 5)
    assert handle.wait(300)
    result = handle.stop()
    assert {len(slots) for done in released for slots in done.values()} >= {32}, "some at a time"
    assert set().union(*(set(done) for done in released)) == set(cores_by_host(remote)), "on both hosts"
    assert result.tables["out"].combine_chunks().equals(wanted(prices(sinks.memory(), 40_000)).combine_chunks())


@needs_cluster
@pytest.mark.parametrize("ways", [(way,) for way in MIGRATIONS])
def test_every_way_gives_the_rows_of_each_key_in_order(
    remote: SparkSession, tmp_path: Path, ways: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "SMALL_BYTES", 0)
    handle, configuration = started(remote, tmp_path, sinks.parquet(tmp_path / "out"), 20_000)
    change_at_every_batch(handle, configuration, ways)
    handle.stop()
    check_files(tmp_path / "out", wanted(prices(sinks.memory(), 20_000)))


@needs_cluster
@long
def test_routes_change_at_every_batch_for_two_hundred_batches_over_hosts(
    remote: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "SMALL_BYTES", 0)
    handle, configuration = started(remote, tmp_path, sinks.parquet(tmp_path / "out"), 200_000)
    assert change_at_every_batch(handle, configuration, MIGRATIONS) > 160
    handle.stop()
    check_files(tmp_path / "out", wanted(prices(sinks.memory(), 200_000)))
