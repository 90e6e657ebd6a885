"""Threads inside Spark's workers: a waiting element gets faster, its level is found, kept, and outlives a worker."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors.kinds import SinkConnector
from penstock.control.journal.journal import read_journal
from penstock.measure.observation import Observation
from penstock.measure.replica_threads import ReplicaThreads
from penstock.plan.configuration import Configuration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.thread_setting import ElasticThreads
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start
from tests.faults.processes import kill, python_workers
from tests.reference.python_functions import plain_rows

TUPLES, ROWS, WAIT_MS = 8_000_000, 50, 10  # far more than is taken


def application(total: int, sink: SinkConnector) -> ps.Application:
    """A service that takes its time for each block, then a window whose sums depend on their order."""
    app = ps.Application("service")
    trace = ps.sources.trace(rate="unbounded", keys=20, seed=3, total=total)
    asked = app.source("quotes", trace).load("service", wait_ms_per_block=WAIT_MS)
    window = ps.sliding(count=5, every=1, per_group=True)
    emit = {"seq": "last(seq)", "ticker": "any(ticker)", "price": "sum(price)"}
    asked.aggregate("window", by="ticker", window=window, emit=emit).sink("out", sink)
    return app


def configured(app: ps.Application, threads: int | ElasticThreads, blocks: int) -> Configuration:
    plain = replace(default_configuration(pipeline_of(app.graph), 2), block_rows=ROWS, micro_batch_tuples=blocks * ROWS)
    return plain.with_threads("service", threads)


def threads_of(observation: Observation) -> list[ReplicaThreads]:
    """The threads of all replicas; none where tasks go without."""
    found = [replica.threads for replica in observation.replicas_by_element["service"]]
    return [threads for threads in found if threads is not None]


def is_found(observation: Observation) -> bool:
    levels = [threads.level for threads in threads_of(observation)]
    return observation.settled and len(levels) == 2 and min(levels) >= 4


def wait_until(handle: Handle, holds: Callable[[Observation], bool], seconds: float = 240.0) -> Observation:
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        handle.wait(0.05)
        seen = handle.observe()
        if seen is not None and holds(seen):
            return seen
    raise AssertionError(f"not within {seconds} s: {handle.observe()}")


def test_the_level_is_found_reported_and_reused_by_the_worker_after_a_kill(
    session: SparkSession, tmp_path: Path
) -> None:
    app = application(TUPLES, ps.sinks.discard())
    handle = start(app, session=session, checkpoint=tmp_path / "c", configuration=configured(app, 1, 80))
    try:
        alone = wait_until(handle, lambda o: o.batch >= 1)
        assert not threads_of(alone)
        elastic = ElasticThreads(most=12, period_s=0.15)
        handle.apply(configured(app, elastic, 400))
        found = wait_until(handle, is_found)
        assert busy_tuples_s(found) > 2 * busy_tuples_s(alone)
        assert all(threads.waits and threads.idle_cores is not None for threads in threads_of(found))
        levels = {threads.level for threads in threads_of(found)}
        killed = [pid for pid in python_workers(os.getpid()) if kill(pid)]
        assert killed
        first = wait_until(handle, lambda o: o.batch > found.batch + 1)
        assert min(threads.level for threads in threads_of(first)) >= min(levels) // 3
        handle.apply(handle.configuration.with_replicas("service", 3))
        third = wait_until(handle, lambda o: len(o.replicas_by_element["service"]) == 3)
        assert threads_of(third)[2].level >= min(levels) // 3
    finally:
        handle.stop()
    lines = read_journal(tmp_path / "c" / "journal.jsonl").lines
    assert any(isinstance(line.configuration.element("service").threads, ElasticThreads) for line in lines)
    assert any(replica.threads for line in lines for replica in line.observation.replicas_by_element["service"])


def busy_tuples_s(observation: Observation) -> float:
    replicas = observation.replicas_by_element["service"]
    return sum(r.tuples_in / (r.busy_s + r.waiting_s) for r in replicas)


def test_results_are_those_of_one_thread(session: SparkSession) -> None:
    app = application(6_000, ps.sinks.memory())
    configuration = configured(app, 5, 40).with_threads("window", 3)
    result = ps.run(app, session=session, configuration=configuration)
    assert plain_rows(result.tables["out"]) == plain_rows(ps.evaluate(app)["out"])
    assert all(o.settled for o in result.observations)
    assert {t.level for o in result.observations for t in threads_of(o)} == {5}
