"""`durable=True`: at each point from which a restart goes on, all that it goes on from is on the disk."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.connectors.files.file_log import FileLog, LoggedFile
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.runtime.delivery.sink_delivery import SinkDelivery
from penstock.runtime.delivery.sink_folders import claim_folders, run_of
from penstock.runtime.driver.batch_result import BatchResult
from penstock.runtime.driver.dead_letter_log import LetterBox
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.lease import Lease
from tests.dataplane.plane import Plane

NOT_NEEDED = {"lease", "intake", "journal.jsonl"}  # an epoch is also in plans, and the others are written anew


class Disk:
    """Knows what would be left of a folder if the machine died: what was synced, under names that were synced."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._contents: dict[int, tuple[int, int]] = {}  # by inode: time of the last change and size, when synced
        self._names: dict[int, dict[str, int]] = {}  # by inode of a folder: inode by name, when synced

    def note(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            found = os.scandir(os.readlink(f"/proc/self/fd/{descriptor}"))
            self._names[status.st_ino] = {entry.name: entry.inode() for entry in found}
        else:
            self._contents[status.st_ino] = status.st_mtime_ns, status.st_size

    def clear(self) -> None:
        self._contents.clear()
        self._names.clear()

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was synced since."""
        return not self._contents and not self._names

    def lost(self, *but: str) -> list[str]:
        """What is there and would not survive."""
        return sorted(str(path.relative_to(self.root)) for path in self._unsynced(self.root, (*but, *NOT_NEEDED)))

    def _unsynced(self, folder: Path, but: tuple[str, ...]) -> Iterator[Path]:
        names = self._names.get(folder.stat().st_ino, {})
        for path in folder.iterdir():
            status = path.stat()
            if path.name in but or path.name.endswith(".draft"):
                continue
            if path.is_dir():
                yield from self._unsynced(path, but)
                is_synced = names.get(path.name) == status.st_ino
            else:
                same = self._contents.get(status.st_ino) == (status.st_mtime_ns, status.st_size)
                is_synced = same and names.get(path.name) == status.st_ino
            if not is_synced:
                yield path


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    found, fsync = Disk(tmp_path / "disk"), os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        found.note(descriptor)

    def noted_all() -> None:
        for path in (found.root, *found.root.rglob("*")):
            descriptor = os.open(path, os.O_RDONLY)
            found.note(descriptor)
            os.close(descriptor)

    found.root.mkdir()
    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "sync", noted_all)
    return found


class DurablePlane(Plane):
    """Runs micro-batches as a durable checkpoint's driver does, with Spark's log and sinks, and looks at the disk."""

    def __init__(self, app: ps.Application, tables: dict[str, pa.Table], disk: Disk, *, durable: bool) -> None:
        Lease(str(disk.root / "checkpoint")).release()
        super().__init__(app.graph, tables, disk.root, 7, 0.0)
        self.exchange = None  # what tasks hand to each other need not survive
        self.fixed = self.checkpoint.fix(
            self.fixed.graph, slots=None, now_s=0.0, dumps=dumps_for_workers, durable=durable
        )
        run = run_of(self.checkpoint, self.fixed.checkpoint_id, is_new=False)
        claim_folders(self.fixed.graph, disk.root / "letters", run)
        self.disk, self.lost_before, self.lost_after = disk, list[str](), list[str]()
        self._delivery = SinkDelivery(app.graph, run_id="a", folder=self.checkpoint.staged, durable=durable)
        self._box, self._batch = LetterBox(disk.root / "letters"), 0
        self.stage, self._is_staged = self._staged, True

    def between_batches(self) -> None:
        spark = Path(self.checkpoint.spark)
        for name in (f"offsets/{self._batch}", f"commits/{self._batch - 1}", f"sources/0/{self._batch}", "metadata"):
            if name not in ("commits/-1",) and not (spark / name).exists():
                (spark / name).parent.mkdir(parents=True, exist_ok=True)
                (spark / name).write_text("v1\n{}")
        self._batch += 1

    def _staged(self, plan: BatchPlan, result: BatchResult) -> None:
        result.parts.update((name, list(own)) for name, own in self._delivery.stage(plan.batch, result.blocks).items())
        self._letters = self._box.stage(plan.batch, 1, result.letters, durable=self.fixed.durable)

    def _publish(self, plan: BatchPlan, result: BatchResult) -> None:
        real = os.replace

        def watched(draft: Any, path: Any) -> None:
            if f"{plan.batch:012d}.manifest" in str(path):
                self.lost_before += self.disk.lost("tables")
            real(draft, path)

        os.replace = watched  # type: ignore[assignment]
        try:
            super()._publish(plan, result)
        finally:
            os.replace = real

    def _keep(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        self._delivery.publish(plan.batch, result.parts)
        self._box.publish(plan.batch, self._letters, durable=self.fixed.durable)
        self.lost_after += self.disk.lost("tables")


def halved(row: dict[str, int]) -> dict[str, int]:
    return {"k": row["k"], "x": 6 // row["x"]}  # fails for some


def application(folder: Path) -> ps.Application:
    app = ps.Application("synced")
    source = app.source("ticks", schema={"k": "int64", "x": "int64"})
    window = ps.sliding(count=3, per_group=True)
    halves = source.map("halves", halved, {"k": "int64", "x": "int64"}, per_tuple=True)
    sums = halves.aggregate("window", by="k", window=window, emit={"k": "any(k)", "x": "sum(x)"})
    sums.sink("dealt", ps.sinks.parquet(str(folder / "a" / "dealt")))
    sums.sink("ordered", ps.sinks.parquet(str(folder / "a" / "ordered"), ordered=True))
    sums.sink("text", ps.sinks.csv(str(folder / "text")))
    return app


def ran(disk: Disk, *, durable: bool) -> DurablePlane:
    chance = random.Random(5)
    rows = {"k": [chance.randrange(5) for _ in range(120)], "x": [chance.randrange(4) for _ in range(120)]}
    plane = DurablePlane(application(disk.root), {"ticks": pa.table(rows)}, disk, durable=durable)
    if not durable:
        disk.clear()
    plane.run_all()
    return plane


def test_a_manifest_counts_on_nothing_that_would_be_lost(disk: Disk) -> None:
    plane = ran(disk, durable=True)
    assert plane.lost_before == []
    assert list((disk.root / "letters").glob("batch-*.parquet"))


def test_a_batch_is_done_when_its_results_would_survive(disk: Disk) -> None:
    plane = ran(disk, durable=True)
    assert plane.lost_after == []
    for folder in ("a/dealt", "a/ordered", "text"):
        assert list((disk.root / folder).glob("batch-*")), folder


def test_batches_sync_nothing_where_nobody_asked(disk: Disk) -> None:
    ran(disk, durable=False)
    assert disk.is_untouched


def test_the_log_of_a_file_source_survives_with_its_name(disk: Disk) -> None:
    FileLog(disk.root / "checkpoint" / "files" / "in").add([LoggedFile("/one")])
    assert disk.lost() == []
    FileLog(disk.root / "checkpoint" / "files" / "in").add([LoggedFile("/two")])
    assert disk.lost() == []
