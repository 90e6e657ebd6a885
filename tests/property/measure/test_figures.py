"""The figures of tasks add up over random graphs, replicas, routes and fusions, and latency is what it should be."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.app.application import Application
from penstock.measure.batch.arrival_clock import ScheduleClock, arrivals_between
from penstock.measure.batch.batch_figures import Reports
from penstock.measure.batch.latency_clock import LatencyClock, result_latency
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.measure.observation import Latency, Observation, ReplicaObservation, latency_over
from penstock.measure.task.task_report import TaskReport
from penstock.measure.task.triggers import UNKNOWN, merged_pieces
from penstock.runtime.driver.batch_result import BatchResult
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed
from tests.dataplane.plane import SLOTS, Plane
from tests.property.element.test_engine_graphs import STEPS, Sketch
from tests.reference.streams import plain


class ObservedPlane(Plane):
    """Keeps what was observed."""

    def _keep(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        super()._keep(plan, result, measured)
        reports = measured.read()
        observation = measured.observation(reports)
        assert observation.tuples_in == measured.tuples_in
        self.seen = [*getattr(self, "seen", []), (plan, reports, observation)]


def check_flow(plane: ObservedPlane, plan: BatchPlan, reports: Reports, observation: Observation) -> None:
    pipeline = plane.layout(plan.configuration).pipeline
    replicas = observation.replicas_by_element
    sent: dict[str, int] = {}
    for element in pipeline.elements:
        own = replicas[element.name]
        assert [r.replica for r in own] == list(range(plan.configuration.element(element.name).replicas))
        for port in (port for r in own for port in r.outputs):
            sent[port.stream] = sent.get(port.stream, 0) + port.tuples
            assert port.bytes > 0 or not port.tuples
        for replica in own:
            assert replica.tuples_in == sum(port.tuples for port in replica.inputs)
            assert replica.tuples_out == sum(port.tuples for port in replica.outputs)
            assert all(o.timed_blocks <= o.blocks for o in replica.operators)
    for stream in {s for element in pipeline.elements for s in element.inputs}:
        readers = [e.name for e in pipeline.elements if stream in e.inputs]
        took = sum(p.tuples for name in readers for r in replicas[name] for p in r.inputs if p.stream == stream)
        assert took == sent.get(stream, 0)
    sinks = {sink.name: sent.get(sink.name, 0) for sink in plane.fixed.graph.sinks}
    assert observation.tuples_out == sum(sinks.values())
    assert sum(int(r.triggers[:, 3].sum()) for own in reports.values() for r in own) == observation.tuples_out
    for name, counts in observation.slot_tuples_by_element.items():
        assert len(counts) == SLOTS
        if plan.configuration.element(name).replicas > 1:
            assert sum(counts) == sum(r.tuples_in for r in replicas[name])


@given(data=st.data(), sources=st.integers(1, 2), seed=st.integers(0, 2**32), kills=st.sampled_from([0.0, 0.2]))
@settings(max_examples=10, deadline=None)
def test_what_leaves_elements_comes_into_others_and_every_result_has_a_trigger(
    data: st.DataObject, sources: int, seed: int, kills: float
) -> None:
    sketch = Sketch(data, sources)
    for step in data.draw(st.lists(st.sampled_from(STEPS), max_size=4), label="steps"):
        sketch.grow(step)
    for i, stream in enumerate(sketch.streams):
        stream.sink(f"sink{i}")
    tables = {f"source{i}": data.draw(plain()) for i in range(sources)}
    with tempfile.TemporaryDirectory() as directory:
        plane = ObservedPlane(sketch.app.graph, tables, Path(directory), seed, kills)
        results, _ = plane.run_all()
    seen = getattr(plane, "seen", [])
    for plan, reports, observation in seen:
        check_flow(plane, plan, reports, observation)
    assert sum(o.tuples_in for _, _, o in seen) == sum(table.num_rows for table in tables.values())
    assert sum(o.tuples_out for _, _, o in seen) == sum(table.num_rows for table in results.values())


def per_key(sink_ordered: bool) -> Application:
    app = Application("sums")
    window = app.source("numbers", schema={"k": "int64", "n": "int64"}).functor("even", where="n % 2 = 0").aggregate(
        "window", by="k", window=ps.sliding(count=3, every=1, per_group=True), emit={"n": "last(n)", "s": "sum(n)"}
    )  # fmt: skip
    window.sink("out", ps.sinks.memory() if sink_ordered else ps.sinks.discard())
    return app


@pytest.mark.parametrize("ordered", [True, False])
def test_triggers_are_the_offsets_of_the_tuples_that_fired(tmp_path: Path, ordered: bool) -> None:
    table = pa.table({"k": np.arange(200) % 7, "n": np.arange(200)})
    plane = ObservedPlane(per_key(ordered).graph, {"numbers": table}, tmp_path, 3, 0.0)
    plane.run_all()
    at = 0
    for plan, reports, observation in plane.seen:
        offsets = range(at, at + observation.tuples_in)
        at += observation.tuples_in
        rows = merged_pieces((r.triggers for own in reports.values() for r in own), 10**6)
        fired = [n for n in offsets if n % 2 == 0]
        assert rows[:, 3].sum() == len(fired)
        if ordered:
            for start, count, results in rows[:, 1:].tolist():
                assert {start, start + count - 1} <= set(fired)
                assert len([n for n in fired if start <= n < start + count]) >= results
        block = plan.configuration.block_rows
        begins = [offsets.start + (n - offsets.start) // block * block for n in fired]
        if not ordered and plan.configuration.unfused == ():
            assert sorted(s for s, n in rows[:, [1, 3]].tolist() for _ in range(n)) == begins
        assert set(rows[:, 0].tolist()) <= {0} if plan.configuration.unfused == () else {0, UNKNOWN}


triggers = st.lists(st.tuples(st.integers(0, 900), st.integers(1, 100), st.integers(0, 30)), max_size=12)


@given(triggers)
def test_latency_is_that_of_results_spread_over_the_offsets_that_triggered_them(
    own: list[tuple[int, int, int]],
) -> None:
    rate, stop, now_s = 50.0, 1_000, 40.0
    sketch = result_latency(np.array(own, np.int64).reshape(-1, 3), stop, lambda offsets: offsets / rate, now_s)
    exact = sorted(
        (now_s - (start + (i + 0.5) * min(rows, stop - start) / results) / rate) * 1000
        for start, rows, results in own
        for i in range(results)
    )
    assert sketch.results == len(exact)
    for ratio in (0.5, 0.95, 0.99):
        if exact:
            # a result may stand half a 64th of its run and one offset beside where it is
            wanted = exact[int(ratio * (len(exact) - 1))]
            beside_ms = 1.1 * (100 / 64 + 1) / rate * 1000
            assert sketch.quantile(ratio) == pytest.approx(wanted, rel=0, abs=0.0101 * wanted + beside_ms)


@given(st.lists(st.floats(0.001, 10.0), min_size=2, max_size=300))
def test_arrivals_have_the_mean_and_variance_of_their_intervals(intervals_s: list[float]) -> None:
    moments_s = np.concatenate([[0.0], np.cumsum(intervals_s)])
    seen = arrivals_between(0, len(moments_s), 5.0, lambda offsets: moments_s[offsets])
    assert (seen.tuples, seen.period_s, seen.rate_tuples_s) == (len(moments_s), 5.0, len(moments_s) / 5)
    assert seen.interval_mean_s == pytest.approx(np.mean(intervals_s))
    assert seen.interval_variance_s2 == pytest.approx(np.var(intervals_s), abs=1e-12)
    assert arrivals_between(7, 7, 1.0, lambda offsets: moments_s[offsets]).tuples == 0


rows = st.tuples(st.integers(-1, 2), st.integers(0, 99), st.integers(1, 9), st.integers(0, 9))


@given(st.lists(rows, max_size=40), st.integers(1, 10))
def test_merging_pieces_keeps_all_results_within_the_offsets_that_triggered_them(
    own: list[tuple[int, int, int, int]], most: int
) -> None:
    table = np.array(own, np.int64).reshape(-1, 4)
    merged = merged_pieces([table], most)
    assert len(merged) <= most + 4  # a piece is of one source
    for place in range(-1, 3):
        before, after = table[table[:, 0] == place], merged[merged[:, 0] == place]
        assert before[:, 3].sum() == after[:, 3].sum()
        if len(before):
            assert before[:, 1].min() == after[:, 1].min()
            assert (before[:, 1] + before[:, 2]).max() == (after[:, 1] + after[:, 2]).max()


class Scheduled:
    """Both clocks of a trace of 100 tuples/s."""

    def __init__(self, fixed: Fixed) -> None:
        self._arrivals, self._latencies = ScheduleClock(fixed), LatencyClock(fixed)

    def completed(self, seen: Observation, reports: Reports) -> Observation:
        return self._latencies.completed(self._arrivals.completed(seen, reports), reports, self._arrivals.waits_s)


def scheduled(tmp_path: Path) -> Scheduled:
    app = Application("scheduled")
    source = app.source("quotes", ps.sources.trace(rate="constant", rate_tuples_s=100.0, keys=3))
    source.functor("all", emit={"seq": "seq"}).sink("out", ps.sinks.discard())
    return Scheduled(Checkpoint(tmp_path).fix(app.graph, slots=8, now_s=1_000.0, dumps=dumps_for_workers))


def test_backlog_and_arrivals_go_by_the_traces_clock_which_an_outage_does_not_stop(tmp_path: Path) -> None:
    def report(first: int, stop: int) -> dict[str, list[TaskReport]]:
        triggers = np.array([[0, first, stop - first, 10]], np.int64)
        replica = ReplicaObservation(0, stop - first, 10, 0.1, 0.1, 0)
        return {"all": [TaskReport(replica, {"quotes": (first, stop)}, triggers)]}

    seen = Observation(0, 1_001.0, 1.0, 100, 10, committed_at_s=1_002.0)
    one = scheduled(tmp_path).completed(seen, report(0, 100))
    assert (one.backlog_tuples, one.backlog_age_s) == (100, pytest.approx(1.0))  # tuples 100..199, since 1 s
    assert one.arrivals is not None
    assert (one.arrivals.tuples, one.arrivals.period_s) == (100, 1.0)
    assert one.latency_from == "schedule"
    assert one.latency is not None
    assert one.latency.mean_ms == pytest.approx(1_500, rel=0.01)
    later = replace(seen, batch=1, started_at_s=1_060.0, committed_at_s=1_061.0)
    two = scheduled(tmp_path).completed(later, report(100, 200))  # by another driver, a minute later
    assert two.latency is not None
    assert two.latency.p50_ms == pytest.approx(59_500, rel=0.02)
    assert two.backlog_tuples == 6_100 - 200
    both = latency_over([one, two])
    assert isinstance(both, Latency)
    assert both.mean_ms == pytest.approx((1_500 + 59_500) / 2, rel=0.01)


def test_results_whose_trigger_is_not_known_are_spread_over_the_micro_batch(tmp_path: Path) -> None:
    report = TaskReport(
        ReplicaObservation(0, 100, 10, 0.1, 0.1, 0), {"quotes": (100, 200)}, np.array([[UNKNOWN, 5, 1, 10]], np.int64)
    )
    seen = scheduled(tmp_path).completed(
        Observation(0, 1_001.0, 1.0, 100, 10, committed_at_s=1_004.0), {"all": [report]}
    )
    assert seen.latency is not None
    assert seen.latency.mean_ms == pytest.approx(2_500, rel=0.01)
    assert seen.latency.highest_ms == pytest.approx(2_950, rel=0.02)
