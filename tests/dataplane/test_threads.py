"""Threads inside tasks: output, order and state equal one thread's, whatever is changed or dies in the middle."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from benchmarks.threads.measured.pegged_cores import PeggedCores
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.measure.observation import Observation
from penstock.operators.stateless.load import flop_s
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.plan.thread_setting import ElasticThreads
from penstock.runtime.driver.batch_result import BatchResult
from penstock.runtime.replica import element_worker as workers
from penstock.state.checkpoint.batch_plan import BatchPlan
from tests.dataplane.plane import Plane
from tests.dataplane.test_clock import MADE as BY_CLOCK
from tests.dataplane.test_graphs import assert_equal
from tests.dataplane.test_intake import merged
from tests.dataplane.test_operators import KEYED, aggregated, joined, numbered
from tests.property.element.test_engine_graphs import STEPS, Sketch
from tests.reference.python_functions import plain_rows
from tests.reference.streams import plain, trades

KILLS = st.sampled_from([0.0, 0.2])
SEEDS = st.integers(0, 2**32)
CORES = len(os.sched_getaffinity(0))


@pytest.fixture
def turns() -> Iterator[None]:
    """Threads take turns far more often than usual."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before_s)


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("penstock") and name != "penstock-sampler"]


@pytest.mark.usefixtures("turns")
@given(data=st.data(), sources=st.integers(1, 3), seed=SEEDS, kills=KILLS)
@settings(max_examples=40)
def test_random_graphs(data: st.DataObject, sources: int, seed: int, kills: float) -> None:
    sketch = Sketch(data, sources)
    for step in data.draw(st.lists(st.sampled_from(STEPS), max_size=6), label="steps"):
        sketch.grow(step)
    for i, stream in enumerate(sketch.streams):
        stream.sink(f"sink{i}")
    tables = {f"source{i}": data.draw(plain()) for i in range(sources)}
    assert_equal(sketch.app.graph, tables, seed, kills, threads=True)


@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize("kind", KEYED)
@given(table=trades(), seed=SEEDS, kills=KILLS)
@settings(max_examples=10)
def test_windows(kind: str, table: pa.Table, seed: int, kills: float) -> None:
    assert_equal(aggregated(*KEYED[kind]).graph, {"trades": table}, seed, kills, threads=True)


@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize("make", [joined, numbered, *BY_CLOCK])
@given(table=trades(), seed=SEEDS, kills=KILLS)
@settings(max_examples=10)
def test_other_operators(make: Callable[[], ps.Application], table: pa.Table, seed: int, kills: float) -> None:
    assert_equal(make().graph, {"trades": table}, seed, kills, threads=True)


@pytest.mark.usefixtures("turns")
@given(totals=st.tuples(st.integers(0, 40), st.integers(0, 40)), seed=SEEDS, kills=KILLS)
@settings(max_examples=15)
def test_an_intake(totals: tuple[int, int], seed: int, kills: float) -> None:
    app = merged(totals, 3.0)
    expected = ps.evaluate(app)
    with tempfile.TemporaryDirectory() as directory:
        got, _ = Plane(app.graph, None, Path(directory), seed, kills, threads=True).run_all()
    for name, table in expected.items():
        assert plain_rows(got[name]) == plain_rows(table), name


class Logged(Plane):
    """The same batches on so many threads everywhere, with what each of them logged of its state."""

    chosen: int | ElasticThreads = 1

    def _any_threads(self) -> int | ElasticThreads:
        return self.chosen

    def _keep(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        super()._keep(plan, result, measured)
        for name, entries in sorted(result.entries.items()):
            own = sorted((int(e["slot"]), int(e["whole"]), int(e["length"]), int(e["checksum"])) for e in entries)
            self.logged.append((plan.batch, name, own))

    def run_logged(self) -> list[tuple[int, str, list[tuple[int, ...]]]]:
        self.logged: list[tuple[int, str, list[tuple[int, ...]]]] = []
        self.run_all()
        return self.logged


@pytest.mark.parametrize(
    "make", [numbered, joined, lambda: aggregated(*KEYED["sliding"]), lambda: merged((30, 20), 3.0)]
)
@given(table=trades(), seed=SEEDS)
@settings(max_examples=4)
def test_the_same_state_is_logged(make: Callable[[], ps.Application], table: pa.Table, seed: int) -> None:
    graph = make().graph
    tables = {"trades": table} if graph.sources[0].name == "trades" else None
    logs = []
    for threads in (1, 3, ElasticThreads(1, 4, period_s=1e-4)):
        with tempfile.TemporaryDirectory() as directory:
            plane = Logged(graph, tables, Path(directory), seed, 0.0)
            plane.chosen = threads
            logs.append(plane.run_logged())
    assert logs[0] == logs[1] == logs[2]


class Steady(Plane):
    """One Configuration for all batches, and every Observation kept."""

    def __init__(self, app: ps.Application, directory: Path, threads: int | ElasticThreads) -> None:
        super().__init__(app.graph, None, directory, 1, 0.0)
        self.chosen, self.replicas = threads, 1
        self.observations: list[Observation] = []

    def _any_configuration(self) -> Configuration:
        (element,) = self.layout(Configuration(())).pipeline.elements
        return Configuration((ElementConfiguration(element.name, self.replicas, threads=self.chosen),), block_rows=1)

    def _keep(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        super()._keep(plan, result, measured)
        self.observations.append(measured.observation(measured.read()))

    def run_batch(self, batch: int, start: int, stop: int) -> Observation:
        (source,) = self.cuts.sources
        self._start, self._end = {source: start}, {source: stop}
        self.run(None, batch)  # type: ignore[arg-type]
        return self.observations[-1]


def service(total: int, wait_ms: float = 2.0) -> ps.Application:
    app = ps.Application("service")
    source = app.source("trace", ps.sources.trace(rate="unbounded", keys=5, total=total))
    source.load("service", wait_ms_per_block=wait_ms).sink("out", ps.sinks.discard())
    return app


def level_of(observation: Observation, replica: int = 0) -> int:
    (own,) = observation.replicas_by_element.values()
    threads = own[replica].threads
    assert threads is not None
    return threads.level


def test_a_waiting_element_gets_more_threads_than_cores_and_a_new_worker_or_replica_begins_with_them() -> None:
    elastic = ElasticThreads(most=4 * CORES, period_s=0.15)
    with tempfile.TemporaryDirectory() as directory:
        plane = Steady(service(100_000, wait_ms=10), Path(directory), elastic)
        try:
            batch, seen = 0, plane.run_batch(0, 0, 40)
            while not (seen.settled and level_of(seen) > CORES) and batch < 60:
                batch += 1
                seen = plane.run_batch(batch, 40 * batch, 40 * (batch + 1))
            level = level_of(seen)
            assert seen.settled
            assert level > CORES
            plane._vanish()
            plane.replicas = 2
            batch += 1
            after = plane.run_batch(batch, 40 * batch, 40 * batch + 4)  # too little to learn anything from
            assert [level_of(after, replica) for replica in (0, 1)] == [level, level]
            assert after.settled
        finally:
            plane._vanish()


def spinning(row: dict[str, Any]) -> dict[str, Any]:
    end_s = time.thread_time() + 0.004
    while time.thread_time() < end_s:
        pass
    return row


def computing(total: int) -> ps.Application:
    app = ps.Application("computing")
    source = app.source("trace", ps.sources.trace(rate="unbounded", keys=5, total=total))
    source.load("load", flop_per_tuple=round(0.004 * flop_s())).sink("out", ps.sinks.discard())
    return app


def in_python(total: int) -> ps.Application:
    app = ps.Application("python")
    source = app.source("trace", ps.sources.trace(rate="unbounded", keys=5, total=total))
    few = source.functor("few", emit={"seq": "seq"})
    few.map("spin", spinning, {"seq": "int64"}, per_tuple=True).sink("out", ps.sinks.discard())
    return app


@pytest.fixture
def pegged() -> Iterator[None]:
    """Other processes want all cores."""
    with PeggedCores() as cores:
        cores.set(CORES)
        yield


@pytest.mark.usefixtures("pegged")
@pytest.mark.parametrize(("make", "replicas"), [(computing, 1), (computing, 2), (in_python, 1)])
def test_computing_tasks_never_have_more_threads_than_cores_however_long_they_wait_for_them(
    make: Callable[[int], ps.Application], replicas: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        plane = Steady(make(100_000), Path(directory), ElasticThreads(period_s=0.1))
        plane.replicas = replicas
        levels = []
        try:
            for batch in range(12):
                seen = plane.run_batch(batch, 20 * batch, 20 * (batch + 1))
                levels += [level_of(seen, replica) for replica in range(replicas)]
        finally:
            plane._vanish()
    assert len(levels) == 12 * replicas
    assert max(levels) <= max(1, CORES // replicas)


@pytest.mark.usefixtures("pegged")
def test_a_waiting_element_gets_more_threads_than_cores_on_a_busy_machine_too() -> None:
    with tempfile.TemporaryDirectory() as directory:
        plane = Steady(service(100_000, wait_ms=10), Path(directory), ElasticThreads(most=4 * CORES, period_s=0.15))
        try:
            levels = [level_of(plane.run_batch(batch, 40 * batch, 40 * (batch + 1))) for batch in range(20)]
        finally:
            plane._vanish()
    assert max(levels) > CORES


def test_an_operator_that_holds_the_gil_is_told_with_the_advice_to_use_replicas() -> None:
    app = in_python(100_000)
    with tempfile.TemporaryDirectory() as directory:
        plane = Steady(app, Path(directory), 2)
        try:
            for batch in range(20):
                seen = plane.run_batch(batch, 60 * batch, 60 * (batch + 1))
                if seen.advice:
                    break
        finally:
            plane._vanish()
    assert seen.advice == (
        "operator 'spin' held the GIL in most samples: threads cannot speed it up; use replicas instead",
    )


def test_one_thread_goes_without_the_machinery() -> None:
    with tempfile.TemporaryDirectory() as directory:
        plane = Steady(service(1_000), Path(directory), 1)
        try:
            seen = plane.run_batch(0, 0, 20)
            assert all(worker._threads is None for worker in workers._workers.values())
        finally:
            plane._vanish()
    (own,) = seen.replicas_by_element.values()
    assert own[0].threads is None
