"""Two drivers of one checkpoint, the first of which lost its lock: it cannot change what the second has begun."""

from __future__ import annotations

import fcntl
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.connectors.files.writers import sweep_drafts, write_table
from penstock.errors import StateError
from penstock.host import atomic_file
from penstock.host.atomic_file import Fence
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.entries import ENTRY, Entries
from penstock.state.checkpoint.lease import Lease
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.manifests import Manifests

BATCH = 7
TAKEN_OVER = "was taken over by process .* while this driver was at work: its lock was lost; this driver stops"


@pytest.fixture
def locks_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system on which a lock keeps nobody out."""
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)


def entries(epoch: int) -> Entries:
    found = np.zeros(1, ENTRY)
    found["length"], found["epoch"], found["batch"] = 100, epoch, BATCH
    return found


class Driver:
    """Publishes one batch; `written` tells whose file is there, None where none is."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.checkpoint = folder, Checkpoint(folder)
        self.lease: Lease | None = None
        self.seen: list[int | None] = []

    def take(self) -> None:
        self.lease = Lease(str(self.folder))

    def sweep(self) -> None:
        self.checkpoint.sweep()
        sweep_drafts(self.folder / "out")

    def look(self) -> None:
        self.seen.append(self.written())

    @property
    def epoch(self) -> int:
        assert self.lease is not None
        return self.lease.epoch

    def fence(self) -> None:
        assert self.lease is not None
        self.lease.check()

    def publish(self, fence: Fence | None = None) -> None:
        raise NotImplementedError

    def written(self) -> int | None:
        raise NotImplementedError


class ManifestDriver(Driver):
    def publish(self, fence: Fence | None = None) -> None:
        before, added = {"w": Ledger.empty(1)}, {"w": entries(self.epoch)}
        Manifests(self.checkpoint.manifests).publish(
            BATCH, self.epoch, before, added, previous=None, fence=fence or self.fence
        )

    def written(self) -> int | None:
        manifests = Manifests(self.checkpoint.manifests)
        return manifests.read(BATCH).epoch if manifests.batches() else None


class PlanDriver(Driver):
    def publish(self, fence: Fence | None = None) -> None:
        app = ps.Application("fenced")
        app.source("ticks", schema={"k": "int64"}).sink("out", ps.sinks.discard())
        configuration = default_configuration(pipeline_of(app.graph), 1, 8)
        self.checkpoint.write_plan(BatchPlan(BATCH, self.epoch, None, configuration), fence=fence or self.fence)

    def written(self) -> int | None:
        plan = self.checkpoint.plan(BATCH)
        return None if plan is None else plan.epoch


class FileDriver(Driver):
    """A sink whose files the driver writes."""

    def publish(self, fence: Fence | None = None) -> None:
        table = pa.table({"epoch": [self.epoch]})
        write_table(table, self.folder / "out", "batch", "csv", fence=fence or self.fence)

    def written(self) -> int | None:
        path = self.folder / "out" / "batch.csv"
        return int(path.read_text().split()[1]) if path.is_file() else None


def interleavings() -> Iterator[tuple[int, ...]]:
    """At which of four points of the first driver's publishing each of the second driver's steps is done."""
    return itertools.combinations_with_replacement(range(4), 4)


def played(old: Driver, new: Driver, points: tuple[int, ...]) -> bool:
    """Publishes as the first driver, doing the second's steps meanwhile; tells whether the first was stopped."""
    steps: list[tuple[int, Callable[[], None]]] = list(
        zip(points, (new.take, new.sweep, new.look, new.publish), strict=True)
    )

    def reach(point: int) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(atomic_file, "_PROCESS", "newer")  # drafts of another process have other names
            while steps and steps[0][0] <= point:
                steps.pop(0)[1]()

    def fence() -> None:  # called with the draft on disk, and again where the draft has gone
        reach(1)
        old.fence()
        reach(2)

    reach(0)
    try:
        old.publish(fence)
    except StateError:
        return True
    finally:
        reach(3)
    return False


@pytest.mark.usefixtures("locks_expire")
@pytest.mark.parametrize("kind", [ManifestDriver, PlanDriver, FileDriver])
@pytest.mark.parametrize("points", list(interleavings()), ids=str)
def test_what_a_newer_driver_has_begun_an_older_one_cannot_change(
    tmp_path: Path, kind: type[Driver], points: tuple[int, ...]
) -> None:
    old, new = kind(tmp_path), kind(tmp_path)
    old.take()
    was_stopped = played(old, new, points)
    assert new.written() == new.epoch, "what the newer driver published is there"
    assert new.seen == [None if was_stopped else old.epoch], "the older driver published before the newer one looked"
    with pytest.raises(StateError, match=TAKEN_OVER):
        old.publish()
    assert new.written() == new.epoch
    assert not list(tmp_path.rglob("*.draft"))


@pytest.mark.usefixtures("locks_expire")
def test_a_driver_whose_lease_was_removed_is_overtaken_too(tmp_path: Path) -> None:
    first = Lease(str(tmp_path))
    first.check()
    (tmp_path / "lease").unlink()
    with pytest.raises(StateError, match=r"taken over by another process"):
        first.check()
    second = Lease(str(tmp_path))
    assert (first.is_held, second.is_held) == (False, True)


@pytest.mark.parametrize("torn", [b"", b"\0" * 200, b"x", b"3", b"3 14", b"\xff" * 60, b"-1 2 host", b"1e3 2 host"])
def test_a_torn_lease_does_not_begin_anew_with_epochs(tmp_path: Path, torn: bytes) -> None:
    (tmp_path / "lease").write_bytes(torn)
    (tmp_path / "logs" / "window").mkdir(parents=True)
    (tmp_path / "logs" / "window" / "000000000004-12-7.log").touch()
    assert Lease(str(tmp_path), Checkpoint(tmp_path).highest_epoch).epoch == 13
