"""A worker process lets go what it serves no more: elements of slots that went elsewhere, runs that have ended."""

from __future__ import annotations

import gc
import shutil
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.block.block import block_of
from penstock.block.position import EVERYTHING
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.runtime.replica import element_worker as workers
from penstock.spark.session.pickling import dumps, dumps_for_workers
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.memory.host_directory import HostState

SLOTS = 8
SCHEMA = {"key": "int64", "x": "float64"}


@pytest.fixture(autouse=True)
def no_workers() -> Iterator[None]:
    workers._workers.clear()
    yield
    workers._workers.clear()


class Counter:
    """State of the user's own."""

    def state(self) -> dict[str, object]:
        return {"seen": []}

    def process(self, row: dict[str, float], state: dict[str, list[float]]) -> dict[str, float]:
        state["seen"].append(row["x"])
        return {"n": float(len(state["seen"]))}


def counting() -> ps.Application:
    app = ps.Application("counting")
    source = app.source("in", ps.sources.trace("unbounded", total=10))
    source.functor("plain", emit={"key": "seq", "x": "price"}).operator(
        "count", Counter(), schema={"n": "float64"}, by="key"
    ).sink("out", ps.sinks.discard())
    return app


def windows() -> ps.Application:
    app = ps.Application("windows")
    source = app.source("in", ps.sources.trace("unbounded", total=10))
    sums = {"x": "sum(price)"}
    source.aggregate("window", by="ticker", window=ps.sliding(count=2, per_group=True), emit=sums).sink("out")
    return app


def worker_of(app: ps.Application, folder: Path, epoch: int = 1) -> workers.ElementWorker:
    checkpoint = Checkpoint(folder)
    if not (folder / "application").exists():
        checkpoint.fix(app.graph, slots=SLOTS, now_s=0.0, dumps=dumps_for_workers)
    return workers.element_worker(str(folder), epoch, (), 1, dumps=dumps)


def routed(name: str, route: tuple[int, ...]) -> Configuration:
    return Configuration((ElementConfiguration("in", 1), ElementConfiguration(name, 2, route)))


def mapped(folder: str) -> list[str]:
    return [line for line in Path("/proc/self/maps").read_text().splitlines() if folder in line]


def test_elements_of_slots_that_were_routed_away_are_released(tmp_path: Path) -> None:
    worker = worker_of(counting(), tmp_path)
    manifests, name = Manifests(worker.checkpoint.manifests), worker.planned.name
    block = block_of(pa.table({"key": list(range(200)), "x": [1.0] * 200}), worker.graph.sources[0].schema)
    plan = BatchPlan(0, 1, None, routed(name, (0,) * SLOTS))
    worker.open(plan, 0, 1)
    worker.step({worker.planned.inputs[0]: block}, EVERYTHING)
    entries = worker.commit()
    ledgers = manifests.publish(0, 1, {n: Ledger.empty(SLOTS) for n in entries}, entries, previous=None)
    operators = worker.operators
    assert isinstance(operators, workers.ElementBySlot)
    assert len(operators._elements) == SLOTS
    gone = [weakref.ref(operators._elements[slot]) for slot in range(4, SLOTS)]
    before_bytes = sum(worker.state_bytes.values())

    moved = replace(plan, batch=1, previous=0, configuration=routed(name, (0,) * 4 + (1,) * 4))
    other = workers.ElementWorker(worker.checkpoint, worker.fixed, worker.layout, 1, dumps)  # another process
    batches = []
    for replica, own in enumerate((worker, other)):
        own.open(moved, replica, 2 + replica)
        route = np.array(moved.configuration.element(name).route)
        rows = np.flatnonzero(route[own._slots_of(own.planned.inputs[0], block)] == replica)
        own.step({own.planned.inputs[0]: block.take(rows)}, EVERYTHING)
        batches.append(own.commit())
    both = {n: np.concatenate([own[n] for own in batches]) for n in batches[0]}
    manifests.publish(1, 1, ledgers, both, previous=0)
    worker.open(replace(moved, batch=2, previous=1), 0, 4)
    gc.collect()
    assert [own() for own in gone] == [None] * 4
    assert sum(worker.state_bytes.values()) < before_bytes


@pytest.mark.parametrize("serves_another_already", [False, True])
def test_files_of_a_run_that_has_ended_are_no_longer_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serves_another_already: bool
) -> None:
    monkeypatch.setenv("LOCAL_DIRS", str(tmp_path / "host"))
    ended = worker_of(windows(), tmp_path / "ended")
    checkpoint, own = ended.checkpoint, ended.fixed.checkpoint_id
    if serves_another_already:
        worker_of(windows(), tmp_path / "other")
    del ended
    assert mapped(own)
    checkpoint.end(1)
    HostState(own).end()
    worker_of(windows(), tmp_path / "other")
    assert mapped(own) == []


def test_a_run_that_goes_on_keeps_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_DIRS", str(tmp_path / "host"))
    first = worker_of(windows(), tmp_path / "first")
    first.checkpoint.end(0)  # a driver before it
    worker_of(windows(), tmp_path / "second")
    assert worker_of(windows(), tmp_path / "first") is first


def test_another_application_in_the_directory_of_a_deleted_checkpoint_is_not_the_one_before(tmp_path: Path) -> None:
    before = worker_of(counting(), tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "checkpoint")
    after = worker_of(windows(), tmp_path / "checkpoint")  # epoch 1, as it was before
    assert after is not before
    assert after.fixed.graph.name == "windows"
