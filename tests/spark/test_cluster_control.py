"""Executors on a real standalone cluster: given back when they are idle, asked for when the load comes."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import SparkSession

import penstock as ps
from penstock.control.journal import read_journal
from penstock.control.recorded_decision import judged_decisions
from penstock.element.evaluation import evaluate
from penstock.spark.cluster_executors import ClusterExecutors
from penstock.spark.executor_pool import ExecutorPool
from tests.spark.cluster import needs_cluster

pytestmark = needs_cluster
PERIOD_S, RATE_TUPLES_S = 100.0, 450.0


def asking(wait_ms: float) -> ps.Application:
    """Windows that ask a service; 300 tuples/s, then 600."""
    app = ps.Application("asking")
    total = int(PERIOD_S * RATE_TUPLES_S)
    source = ps.sources.trace("step", RATE_TUPLES_S, period_s=PERIOD_S, keys=60, seed=3, total=total)
    window = app.source("quotes", source).aggregate(
        "window", by="ticker", window=ps.sliding(count=5, per_group=True),
        emit={"seq": "last(seq)", "ticker": "any(ticker)", "mean": "avg(price)"},
    )  # fmt: skip
    asked = window.load("ask", wait_ms_per_tuple=wait_ms) if wait_ms else window
    asked.functor("answer", emit={"seq": "seq", "ticker": "ticker", "cents": "mean * 100"}).sink("out")
    return app


def test_executors_go_when_idle_and_come_back_with_the_load(remote: SparkSession, tmp_path: Path) -> None:
    cluster, counts = ClusterExecutors(remote), list[int]()
    handle = ps.start(
        asking(3.4), session=remote, checkpoint=tmp_path / "c", goal=ps.throughput(),
        limits=ps.Limits(max_executors=2, max_replicas=4),
    )  # fmt: skip
    deadline = time.monotonic() + 400
    while not handle.wait(0.5) and time.monotonic() < deadline:
        counts.append(len(cluster.executors()))
    result = handle.stop()
    low = counts.index(1)
    assert 2 in counts[:low]
    assert 2 in counts[low:]
    assert result.tables["out"].combine_chunks().equals(evaluate(asking(0.0))["out"].combine_chunks())
    assert handle.controller is not None
    pool = handle.controller.plant.resources
    assert isinstance(pool, ExecutorPool)
    assert pool.start.seen > 0
    assert 0 < pool.start.mean_s < 60
    decisions = judged_decisions(read_journal(tmp_path / "c" / "journal.jsonl"))
    assert max(d.decision.setting.replicas for d in decisions[len(decisions) // 2 :]) > 2
    assert min(d.decision.setting.replicas for d in decisions) <= 2
