"""Executors on a real standalone cluster: given back when they are idle, asked for when replicas need them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

import penstock as ps
from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, change_or_hold
from penstock.control.live.executor_pool import ExecutorPool
from penstock.spark.executors.cluster_executors import ClusterExecutors
from tests.spark.applications import prices
from tests.spark.cluster.cluster import needs_cluster

pytestmark = needs_cluster


@dataclass
class Wanting:
    """A policy that wants as many replicas as the test says."""

    replicas: int
    name: str = "wanting"

    def start(self) -> None: ...

    def decide(self, state: None, seen: ControlStep) -> tuple[None, Decision]:
        return None, change_or_hold(seen.setting, replace(seen.setting, replicas=self.replicas), "the test says so")


def wait_until(handle: ps.Handle, happened: Callable[[], bool], what: str, patience_s: float = 240.0) -> None:
    deadline = time.monotonic() + patience_s
    while not happened():
        assert time.monotonic() < deadline, f"{what} did not happen"
        assert not handle.wait(0.2), f"the application ended before {what}"


def test_executors_go_when_idle_and_come_back_when_replicas_need_them(remote: SparkSession, tmp_path: Path) -> None:
    cluster, policy, app = ClusterExecutors(remote), Wanting(2), prices(ps.sinks.memory(), 3_000_000)
    handle = ps.start(
        app, session=remote, checkpoint=tmp_path / "c", goal=ps.throughput(), policy=policy,
        limits=ps.Limits(max_executors=2, max_micro_batch_tuples=2_000),
    )  # fmt: skip
    controller = handle.controller
    assert controller is not None
    pool = controller.plant.resources
    assert isinstance(pool, ExecutorPool)
    assert len(cluster.executors()) == 2
    wait_until(handle, lambda: len(cluster.executors()) == 1, "giving an executor back")
    seen = handle.observe()
    assert seen is not None
    assert len(seen.replicas_by_element["window"]) == 2
    policy.replicas = 4
    wait_until(handle, lambda: _replicas(handle) == 4, "four replicas")
    result = handle.stop()
    assert controller.failure is None
    assert len(cluster.executors()) == 2
    assert pool.start.seen > 0
    assert 0 < pool.start.mean_s < 120
    taken = sum(o.tuples_in for o in result.observations)
    trace = app.graph.sources[0].connector
    expected = ps.evaluate(app, {"quotes": trace.table(0, taken)})["out"]  # type: ignore[union-attr]
    assert result.tables["out"].combine_chunks().equals(expected.combine_chunks())


def _replicas(handle: ps.Handle) -> int:
    seen = handle.observe()
    return 0 if seen is None else len(seen.replicas_by_element["window"])
