"""Every sink that promises exactly once keeps it, whichever stage of a batch its driver dies at."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import penstock as ps
from penstock.app.serialise import graph_from_json, graph_to_json
from penstock.block.block import block_of
from penstock.connectors.files.folder_owner import Run
from penstock.connectors.port import BatchId
from penstock.errors import ApplicationError

SCHEMA = pa.schema({"n": pa.int64(), "key": pa.string()})
RUN = "run"
STAGES = ("opened", "written", "closed", "published", "published twice")


def of_files(folder: Path, pattern: str, read: Callable[[Path], Any]) -> list[int]:
    return [n for path in sorted(folder.glob(pattern)) for n in read(path)]


def json_numbers(path: Path) -> list[int]:
    return [json.loads(line)["n"] for line in path.read_text().splitlines()]


def visible(folder: Path) -> list[int]:
    """Of all folders that a reader sees."""
    found = [path for path in sorted(folder.rglob("*.parquet")) if ".penstock" not in path.parts]
    return [n for path in found for n in pa.parquet.ParquetFile(path).read()["n"].to_pylist()]


@dataclass(frozen=True)
class Case:
    """A sink, and an independent reader of what it wrote."""

    make: Callable[[Path], ps.sinks.SinkPort]
    read: Callable[[Path], list[int]]
    at_least_once: bool = False


@dataclass(frozen=True)
class OwnSink:
    """A user's own: a file with a line for each pair of run and batch, replaced as a whole."""

    path: str

    promise = ps.sinks.SinkPromise("exactly once", "replicas")

    def claim(self, claim: ps.sinks.Claim) -> None:
        if not claim.only_checks:
            Path(self.path).mkdir(exist_ok=True)

    def open(self, part: ps.sinks.Part) -> Any:
        return part.stage()

    def write(self, opened: Any, tuples: Any) -> None:
        opened.write(tuples)

    def publish(self, delivery: ps.sinks.Delivery) -> None:
        rows = [n for batch in delivery.batches() for n in batch.column("n").to_pylist()]
        if rows:
            (Path(self.path) / f"{delivery.batch.run_id}-{delivery.batch:04d}.json").write_text(json.dumps(rows))

    def sweep(self, sweep: ps.sinks.Sweep) -> None:
        pass


CASES = {
    "parquet": Case(
        ps.sinks.parquet,
        lambda folder: of_files(folder, "*.parquet", lambda p: pa.parquet.read_table(p)["n"].to_pylist()),
    ),
    "parquet in order": Case(
        lambda folder: ps.sinks.parquet(folder, ordered=True),
        lambda folder: of_files(folder, "*.parquet", lambda p: pa.parquet.read_table(p)["n"].to_pylist()),
    ),
    "parquet by key": Case(lambda folder: ps.sinks.parquet(folder, partition_by="key"), visible),
    "parquet merged": Case(lambda folder: ps.sinks.parquet(folder, compact_files=3), visible),
    "parquet by key and merged": Case(
        lambda folder: ps.sinks.parquet(folder, partition_by="key", compact_files=2), visible
    ),
    "csv": Case(
        ps.sinks.csv, lambda folder: of_files(folder, "*.csv", lambda p: pa.csv.read_csv(p)["n"].to_pylist())
    ),
    "a user's own": Case(
        lambda folder: OwnSink(str(folder)),
        lambda folder: of_files(folder, "*.json", lambda p: json.loads(p.read_text())),
    ),
}  # fmt: skip


class Died(Exception):
    pass


class Driver:
    """A driver of the contract: it stages batches and publishes them, and dies where it is told to."""

    def __init__(self, sink: ps.sinks.SinkPort, checkpoint: Path, epoch: int, kept: frozenset[str]) -> None:
        self.sink, self.checkpoint, self.epoch = sink, checkpoint, epoch
        claim = Run(RUN, str(checkpoint), None)
        for only_checks in (True, False):
            sink.claim(ps.sinks.Claim("out", claim, only_checks, SCHEMA))
        sink.sweep(ps.sinks.Sweep(before_epoch=epoch, excluded=kept))

    def staged(self, batch: int, numbers: list[int], dies_at: str = "") -> Iterator[str]:
        """The parts of two replicas, or of the driver, as a task stages them."""
        by_replica = self.sink.promise.staged_by == "replicas"
        for replica in range(2) if by_replica else (None,):
            own = numbers if replica is None else [n for n in numbers if n % 2 == replica]
            table = pa.table({"n": own, "key": [f"k{n % 3}" for n in own]}, schema=SCHEMA)
            part = ps.sinks.Part("out", SCHEMA, BatchId(batch, RUN), self.epoch, replica, 1, self.checkpoint)
            on_host = pickle.loads(pickle.dumps(self.sink))
            opened = on_host.open(part)
            self._reach("opened", dies_at)
            on_host.write(opened, block_of(table, SCHEMA))
            self._reach("written", dies_at)
            yield opened.close()
        self._reach("closed", dies_at)

    def publish(self, batch: int, parts: tuple[str, ...], dies_at: str = "") -> None:
        delivery = ps.sinks.Delivery("out", SCHEMA, BatchId(batch, RUN), parts, self.epoch, self.checkpoint)
        self.sink.publish(delivery)
        if dies_at == "published twice":
            self.sink.publish(delivery)
        if dies_at.startswith("published"):
            raise Died

    @staticmethod
    def _reach(stage: str, dies_at: str) -> None:
        if stage == dies_at:
            raise Died


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", CASES)
def test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing(name: str, stage: str, tmp_path: Path) -> None:
    case, out, checkpoint = CASES[name], tmp_path / "out", tmp_path / "checkpoint"
    checkpoint.mkdir()
    manifests: dict[int, tuple[str, ...]] = {}
    epoch = 1
    driver = Driver(case.make(out), checkpoint, epoch, frozenset())
    for batch in range(4):
        numbers = list(range(10 * batch, 10 * batch + (0 if batch == 2 else 7)))
        for dies_at in (stage, ""):
            try:
                if batch not in manifests:
                    manifests[batch] = tuple(driver.staged(batch, numbers, dies_at)) if numbers else ()
                driver.publish(batch, manifests[batch], dies_at)
            except Died:
                epoch += 1
                kept = frozenset(manifests.get(max(manifests, default=-1), ()))
                driver = Driver(case.make(out), checkpoint, epoch, kept)
    driver.sink.sweep(ps.sinks.Sweep(before_epoch=epoch + 1))  # the run ends
    assert sorted(case.read(out)) == [n for batch in (0, 1, 3) for n in range(10 * batch, 10 * batch + 7)]


@pytest.mark.parametrize("name", CASES)
def test_a_sink_is_a_port_that_survives_being_stored(name: str, tmp_path: Path) -> None:
    sink = CASES[name].make(tmp_path / "out")
    assert isinstance(sink, ps.sinks.SinkPort)
    app = ps.Application("stored")
    app.source("in", schema=SCHEMA).sink("out", sink)
    assert graph_from_json(graph_to_json(app.graph)).sinks[0].connector == sink
    assert pickle.loads(pickle.dumps(sink)) == sink


@pytest.mark.parametrize("name", CASES)
def test_finite_input_goes_to_any_sink(name: str, tmp_path: Path) -> None:
    app = ps.Application("finite")
    sink = CASES[name].make(tmp_path / "out")
    sink.claim(ps.sinks.Claim("out", Run("run", "")))
    app.source("in", schema=SCHEMA).sink("out", sink)
    ps.evaluate(app, {"in": {"n": [3, 1, 2], "key": ["a", "b", "c"]}})
    assert CASES[name].read(tmp_path / "out") == [3, 1, 2]


def test_what_is_no_sink_is_told() -> None:
    class Half:
        promise = ps.sinks.SinkPromise("exactly once")

        def open(self, part: ps.sinks.Part) -> None: ...

    app = ps.Application("half")
    app.source("in", schema=SCHEMA).sink("out", Half())  # type: ignore[arg-type]
    with pytest.raises(ApplicationError, match=r"SinkPort; Half lacks 'claim', 'write', 'publish', 'sweep'"):
        _ = app.graph
