"""State in a directory that fills up: it goes on, on disk, and results are what they would have been."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.errors import StateFileError, StateMovedError
from penstock.state.checkpoint.logs import Logs
from penstock.state.memory import host_memory
from penstock.state.memory.host_directory import LEAST_BYTES, HostDirectory
from penstock.state.rows.slot_copy import copy_slots
from penstock.state.rows.stored_count_window import StoredCountWindow
from tests.faults.state_worker import ALL_SLOTS, CALLS, SLOTS, Block, Driver, PlainWindow, results, stored_rows

SHAPE = (4, 1, False)
ONE = Block((1, 2, 1, 3), (1.0, 2.0, 3.0, 4.0))
MANY = Block(tuple(range(5_000)), (1.0,) * 5_000)


class Host:
    """A host with a directory in memory and one on disk, and any number of workers."""

    def __init__(
        self,
        root: Path,
        monkeypatch: pytest.MonkeyPatch,
        shape: tuple[int, int, bool] = SHAPE,
        retained: tuple[int, ...] = (),
    ) -> None:
        self.root, self.shape, self.retained, self.free = root, shape, retained, 1 << 40
        self.memory, self.disk = root / "memory" / "boot", root / "disk" / "boot"
        self.driver, self.plain = Driver(root / "checkpoint"), PlainWindow(shape)
        monkeypatch.setattr(host_memory, "free_bytes", lambda path: self.free if self.is_memory(path) else 1 << 40)
        self.is_full = False
        reserve = os.posix_fallocate

        def reserve_if_free(descriptor: int, offset: int, length: int) -> None:
            if self.is_full and self.is_memory(os.readlink(f"/proc/self/fd/{descriptor}")):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            reserve(descriptor, offset, length)

        monkeypatch.setattr(os, "posix_fallocate", reserve_if_free)

    def is_memory(self, path: str) -> bool:
        return path.startswith(str(self.memory))

    def worker(self, *, fallback: bool = True) -> StoredCountWindow:
        place = HostDirectory(str(self.memory / "window"), str(self.disk / "window") if fallback else None)
        logs = Logs(str(self.root / "checkpoint" / "logs"))
        types = (pa.int64(),), (pa.float64(),)
        where = {"slots": SLOTS, "host_directory": place, "logs": logs}
        return StoredCountWindow(*self.shape, CALLS, *types, retained=self.retained, **where)  # type: ignore[arg-type]

    def open(self, window: StoredCountWindow, slots: tuple[int, ...] = ALL_SLOTS) -> int:
        ledger = self.driver.ledger
        return len(window.open(slots, ledger.heads, ledger.history, self.driver.token()))

    def process(self, window: StoredCountWindow, block: Block) -> None:
        fired = window.process(block.key_columns(pa.int64()), len(block.keys), block.columns())
        assert results(fired, len(block.keys)) == results(self.plain.process(block), len(block.keys))

    def run(self, window: StoredCountWindow, block: Block) -> int:
        rebuilt = self.open(window)
        self.process(window, block)
        self.driver.publish(window.commit())
        return rebuilt

    def is_on_disk(self, window: StoredCountWindow) -> bool:
        return window.memory.directory.startswith(str(self.disk)) and not self.memory.exists()


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def test_a_task_that_finds_little_space_begins_on_disk(host: Host) -> None:
    window, other = host.worker(), host.worker()
    assert host.run(window, ONE) == 0
    host.free = LEAST_BYTES - 1
    assert host.run(window, ONE) > 0
    assert host.is_on_disk(window)
    assert host.run(other, ONE) == 0  # it finds the same rows there
    assert host.is_on_disk(other)
    assert stored_rows(host.worker()) == {}
    host.free = 1 << 40
    assert host.run(host.worker(), ONE) == 0  # and a new worker, too, whatever is free by then


def test_memory_that_is_full_in_the_middle_of_a_task_has_it_run_again_on_disk(host: Host) -> None:
    window = host.worker()
    host.run(window, ONE)
    host.open(window)
    host.is_full = True
    with pytest.raises(StateMovedError, match=r"there is no space for state in '.*'; state goes on in '.*disk"):
        window.process(MANY.key_columns(pa.int64()), 5_000, MANY.columns())
    window.close()
    assert host.run(window, MANY) > 0
    assert host.is_on_disk(window)
    host.run(window, ONE)


def test_memory_that_is_full_at_the_first_file_is_left_at_once(host: Host) -> None:
    host.is_full = True
    window = host.worker()
    host.run(window, ONE)
    assert host.is_on_disk(window)


def test_a_worker_that_is_at_work_meanwhile_comes_to_its_end_and_then_follows(host: Host) -> None:
    one, other = host.worker(), host.worker()
    host.run(one, MANY)
    ledger = host.driver.ledger
    one.open((0, 1, 2), ledger.heads, ledger.history, host.driver.token())
    other.open((3, 4, 5), ledger.heads, ledger.history, host.driver.token())
    other.memory.place.leave()
    host.driver.publish(one.commit(), other.commit())
    assert host.run(one, MANY) == SLOTS
    assert host.run(other, MANY) == 0
    assert host.is_on_disk(one)


def test_slots_are_locked_in_the_files_that_are_in_use(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another worker leaves the directory between a task's look at the files and its locks."""
    one, other = host.worker(), host.worker()
    host.run(one, ONE)
    take = one.memory.locks.take

    def leave_first(*args: object) -> None:
        other.memory.place.leave()
        take(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(one.memory.locks, "take", leave_first)
    host.open(one)
    assert host.is_on_disk(one)
    assert one.memory.locks.is_same_file()
    host.process(one, ONE)
    host.driver.publish(one.commit())


def test_a_copy_takes_no_slot_of_files_that_were_left(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    window = host.worker()
    host.run(window, ONE)
    memory, ledger = window.memory, host.driver.ledger
    take = memory.locks.take_free

    def leave_first(slots: object) -> object:
        memory.place.leave()
        return take(slots)  # type: ignore[arg-type]

    monkeypatch.setattr(memory.locks, "take_free", leave_first)
    assert not len(copy_slots(window.store, ledger.heads["batch"], ledger.heads, ledger.history, 1, host.driver.batch))


def test_without_another_place_it_is_one_sentence(host: Host) -> None:
    window = host.worker(fallback=False)
    host.run(window, ONE)
    host.is_full = True
    host.open(window)
    with pytest.raises(StateFileError, match=r"reserving memory .* no space left on device; free some space"):
        window.process(MANY.key_columns(pa.int64()), 5_000, MANY.columns())


def test_wide_rows_leave_memory_before_writing_to_what_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their memory is taken as they are touched: where there is none, that is a bus error."""
    host = Host(tmp_path, monkeypatch, (2_000, 1, False), retained=(0,))
    window = host.worker()
    host.run(window, ONE)
    host.free = LEAST_BYTES + 4096
    host.open(window)
    with pytest.raises(StateMovedError):
        window.process(MANY.key_columns(pa.int64()), 5_000, MANY.columns())
    window.close()
    assert host.run(window, MANY) > 0
    assert host.is_on_disk(window)


def test_wide_rows_stay_in_memory_that_holds_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(tmp_path, monkeypatch, (2_000, 1, False), retained=(0,))
    window = host.worker()
    host.run(window, ONE)
    host.free = LEAST_BYTES + (64 << 20)
    host.run(window, ONE)
    assert not host.is_on_disk(window)


def test_a_directory_on_disk_that_is_wiped_is_made_anew(host: Host) -> None:
    window = host.worker()
    host.run(window, ONE)
    window.memory.place.leave()
    host.run(window, ONE)
    shutil.rmtree(host.disk / "window")
    assert host.run(window, ONE) > 0
    assert host.is_on_disk(window)
