"""Calls of `elastic_map` that compute: tasks of a host share its cores; calls that wait are not bounded by them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.element.pool.computing_tasks import ComputingTasks
from penstock.element.pool.level_hint import LevelHint, known_level_path, read_level_hint, write_level_hint
from penstock.element.pool.level_keeper import LevelKeeper
from penstock.host.process import this_process

CORES = 4


class Host:
    """A task in virtual time whose calls compute for a share of their time, without the GIL, beside others' tasks.

    Where there are more computing threads than cores, each gets its part of them: more threads get more.
    """

    def __init__(self, folder: Path, computing: float, max_level: int = 64, known: Path | None = None) -> None:
        self.now_s = self.cpu_s = self.line_s = 0.0
        self.computing, self.others, self.number = computing, 0, 0
        self.wake_s = 0.0  # that a call which was waited for is in line for a core
        self.keeper = LevelKeeper(
            max_level, 1.0, known, clock=lambda: self.now_s, cpu_clock=lambda: self.cpu_s,
            line_clock=lambda: self.line_s, computing=ComputingTasks(folder, lambda: CORES),
        )  # fmt: skip
        self.levels: list[int] = []

    def run(self, seconds: float) -> None:
        """A task."""
        self.keeper.next_task()
        self.keeper.resume()
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            wanted = self.computing * self.keeper.level + self.others
            share = min(1.0, CORES / wanted) if wanted else 1.0  # of a core that a thread gets which wants one
            call_s = 0.05 * (1 - self.computing + self.computing / share) + self.wake_s
            took_s = call_s / self.keeper.level
            self.now_s += took_s
            self.cpu_s += 0.05 * self.computing
            self.line_s += 0.05 * self.computing * (1 / share - 1) + self.wake_s
            self.keeper.completed(self.number, 1, self.number + 1)
            self.number += 1
            self.levels.append(self.keeper.level)
        self.number = 0
        self.keeper.end_task()


def test_one_task_alone_computes_on_all_cores_and_no_more(tmp_path: Path) -> None:
    host = Host(tmp_path, computing=1.0)
    host.run(100)
    assert host.keeper.level == max(host.levels) == CORES


@pytest.mark.parametrize(("tasks", "most"), [(2, 2), (3, 1), (4, 1), (9, 1)])
def test_tasks_that_compute_share_the_cores(
    tmp_path: Path, tasks: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(tmp_path, computing=1.0)
    alive = other_tasks(tmp_path, tasks - 1, monkeypatch)
    host.others = 2 * len(alive)  # so that more threads would win cores from them
    host.run(100)
    assert host.keeper.level == max(host.levels[-200:]) == most
    alive.clear()
    host.others = 0
    host.run(100)
    assert host.keeper.level == CORES
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wake_s", [0.0, 0.2])
@pytest.mark.parametrize("computing", [0.0, 0.02, 0.04])
def test_calls_that_wait_are_not_bounded_by_the_cores(tmp_path: Path, computing: float, wake_s: float) -> None:
    host = Host(tmp_path / "computing", computing)
    host.wake_s = wake_s
    host.run(60)
    assert host.keeper.level == 64
    assert not (tmp_path / "computing").exists()


def test_calls_that_only_seemed_to_compute_are_found_to_wait(tmp_path: Path) -> None:
    host = Host(tmp_path, computing=1.0)
    host.run(3)
    host.computing = 0.02
    host.run(60)
    assert host.keeper.level == 64


def test_a_new_worker_knows_that_calls_compute(tmp_path: Path) -> None:
    known = tmp_path / "level.json"
    host = Host(tmp_path / "computing", computing=1.0, known=known)
    host.run(100)
    assert read_level_hint(known) == LevelHint(CORES, 1.0)
    write_level_hint(known, LevelHint(64, 1.0))
    assert Host(tmp_path / "computing", computing=1.0, known=known).keeper.level == CORES
    write_level_hint(known, LevelHint(64, 0.02))
    assert Host(tmp_path / "computing", computing=0.02, known=known).keeper.level == 64


def test_a_task_whose_process_has_ended_counts_no_more(tmp_path: Path) -> None:
    own = ComputingTasks(tmp_path, lambda: CORES)
    own.join()
    (tmp_path / f"{os.getpid()}-{this_process().start_ticks - 1}").touch()
    assert own.cores() == CORES
    assert [path.name for path in tmp_path.iterdir()] == [f"{os.getpid()}-{this_process().start_ticks}"]
    own.leave()
    assert not list(tmp_path.iterdir())


def test_tasks_that_cannot_tell_of_themselves_are_bounded_by_all_cores(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    own = ComputingTasks(tmp_path / "file" / "folder", lambda: CORES)
    own.join()
    assert own.cores() == CORES
    own.leave()


def test_a_host_without_a_directory_of_its_own_has_no_hints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    assert known_level_path("map") is None


def other_tasks(folder: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Processes that compute; those taken out of the list have ended."""
    names = [f"{10_000_000 + number}-1" for number in range(count)]
    for name in names:
        (folder / name).touch()
    is_alive: Callable[[object], bool] = lambda process: (  # noqa: E731
        process == this_process() or f"{process.pid}-{process.start_ticks}" in names  # type: ignore[attr-defined]
    )
    monkeypatch.setattr("penstock.host.process.Process.is_alive", is_alive)
    return names
