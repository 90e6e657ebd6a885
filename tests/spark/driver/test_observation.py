"""What is observed on Spark is what happened: flows, latency, CPU, and the journal that keeps it over a restart."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from penstock import sinks
from penstock.block.block import block_of
from penstock.connectors.trace.source import TraceSource
from penstock.control.journal.journal import read_journal
from penstock.control.journal.plain_values import to_plain
from penstock.measure.observation import Observation
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.start import start
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.slots.slot_functions import HashSlots
from penstock.watch.run_result import RunResult
from tests.spark.applications import prices

TUPLES, RATE = 60_000, 20_000


def run_part(session: SparkSession, checkpoint: Path, *, to_the_end: bool) -> RunResult:
    """A run at a constant rate, with a total order at its sink, so that every result's trigger is known."""
    app = prices(sinks.memory(), TUPLES, rate="constant")
    configuration = replace(default_configuration(pipeline_of(app.graph), 2), block_rows=500, micro_batch_tuples=25_000)
    handle = start(app, session=session, checkpoint=checkpoint, configuration=configuration)
    while not handle.wait(0.05) and (to_the_end or handle.observe() is None):
        pass
    return handle.stop()


def check_latency(observation: Observation, triggers: list[int], started_at_s: float) -> None:
    """Quantiles against those of every result's own latency."""
    assert observation.committed_at_s is not None
    now_s = observation.committed_at_s - started_at_s
    exact = sorted((now_s - n / RATE) * 1000 for n in triggers)
    own = observation.latency
    assert own is not None
    for ratio, got in ((0.5, own.p50_ms), (0.95, own.p95_ms), (0.99, own.p99_ms)):
        assert got == pytest.approx(exact[math.floor(ratio * (len(exact) - 1))], rel=0.012, abs=5)


def test_observations_and_journal_over_a_restart(session: SparkSession, tmp_path: Path) -> None:
    results = [run_part(session, tmp_path / "c", to_the_end=end) for end in (False, True)]
    newest = {o.batch: o for result in results for o in result.observations}  # the stop may have a batch run again
    seen = [newest[batch] for batch in sorted(newest)]
    assert sum(o.tuples_in for o in seen) == TUPLES
    recorded = read_journal(tmp_path / "c" / "journal.jsonl")
    assert [to_plain(o) for o in recorded.observations] == [to_plain(o) for o in seen]
    started_at_s = Checkpoint(tmp_path / "c").fixed().started_at_s
    fired = sorted({n for result in results for n in result.tables["out"].column("seq").to_pylist()})
    at = 0
    for o in seen:
        own = [n for n in fired if at <= n < at + o.tuples_in]
        assert o.tuples_out == len(own)
        check_latency(o, own, started_at_s)
        at += o.tuples_in
        check_flow(o)
    assert sum(o.cpu.element_s for o in seen if o.cpu is not None) > 0
    assert (seen[-1].backlog_tuples, seen[-1].backlog_age_s) == (0, 0.0)
    known = [r for o in seen for own in o.replicas_by_element.values() for r in own if r.jvm_cpu_s is not None]
    assert known
    assert all(0 < r.jvm_cpu_s < 60 for r in known if r.jvm_cpu_s is not None)


def check_flow(o: Observation) -> None:
    trades, window = o.replicas_by_element["trades"], o.replicas_by_element["window"]
    assert sum(r.tuples_in for r in trades) == o.tuples_in
    sent, slots = sum(r.tuples_out for r in trades), o.slot_tuples_by_element["window"]
    assert sent == sum(r.tuples_in for r in window) == sum(slots)
    assert sum(r.bytes_out for r in trades) == sum(r.bytes_in for r in window) > 0
    assert set(o.operators) == {"quotes", "trades", "window", "result", "out"}
    assert o.operators["quotes"].tuples_out == o.tuples_in
    assert o.operators["window"].state_bytes > 0
    assert o.cpu is not None
    assert o.cpu.jvm_s is not None
    assert o.cpu.element_s >= 0  # a rest: what is sampled of operators may be all of a short micro-batch
    assert 0 < o.cpu.measuring_s < o.cpu.total_s
    assert o.times is not None
    assert o.times.plan_s + o.times.run_s + o.times.publish_s == pytest.approx(o.micro_batch_s, abs=1e-6)


def test_slots_are_known_with_one_replica_too(session: SparkSession) -> None:
    app = prices(sinks.discard(), 40_000)
    configuration = replace(default_configuration(pipeline_of(app.graph), 1), block_rows=1_000)
    handle = start(app, session=session, configuration=configuration)
    handle.wait(300)
    (seen,) = handle.stop().observations
    trace = app.graph.sources[0].connector
    assert isinstance(trace, TraceSource)
    table = trace.table(0, 40_000)
    block = block_of(table, trace.schema)
    kinds = np.array(table.column("ttype").to_pylist()) == "Trade"
    slots = HashSlots(512).slots_of([block.column("ticker")], block.rows)[kinds]
    exact = np.bincount(slots, minlength=512)
    got = np.array(seen.slot_tuples_by_element["window"])
    assert got.sum() == pytest.approx(exact.sum(), rel=0.02)
    assert np.abs(got / got.sum() - exact / exact.sum()).max() < 0.01
    assert not set(np.flatnonzero(got)) - set(np.flatnonzero(exact))
