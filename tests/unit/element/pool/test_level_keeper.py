"""The level of a pool over many tasks: what counts, what does not, and that short tasks are judged too."""

from __future__ import annotations

import heapq
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.element.pool.busy_clock import BusyClock, Spent
from penstock.element.pool.level_keeper import LevelKeeper

CALL_S = 0.01


class Tasks:
    """Tasks in virtual time, of calls that take `CALL_S`; with more than `knee` at once they take longer."""

    def __init__(self, journal: Path, knee: int, max_level: int = 64, computes_in_calls: bool = False) -> None:
        self.now_s, self.cpu_s, self.knee, self.journal = 0.0, 0.0, knee, journal
        self.computes_in_calls = computes_in_calls  # else all the rest of the time
        self.keeper = LevelKeeper(
            max_level, 1.0, journal=journal, clock=lambda: self.now_s, cpu_clock=lambda: self.cpu_s
        )  # fmt: skip

    def go_to(self, now_s: float, *, in_calls: bool) -> None:
        self.cpu_s += now_s - self.now_s if in_calls == self.computes_in_calls else 0.0
        self.now_s = now_s

    def run(self, units: int, first_wait_s: float = 0.5) -> None:
        """A task: the wait for its first batch, its units, and the time until the next task."""
        keeper = self.keeper
        keeper.next_task()
        keeper.resume()
        self.go_to(self.now_s + first_wait_s, in_calls=False)
        keeper.starved(first_wait_s)
        under_way: list[tuple[float, int]] = []
        begun = ended = 0
        while ended < units:
            while begun < units and len(under_way) < keeper.level:
                call_s = CALL_S * max(1.0, keeper.level / self.knee) ** 2
                heapq.heappush(under_way, (self.now_s + call_s, begun))
                begun += 1
            end_s, number = heapq.heappop(under_way)
            self.go_to(end_s, in_calls=True)
            ended += 1
            if units - ended >= keeper.level:
                keeper.completed(number, 1, units)
        self.go_to(self.now_s + 5.0, in_calls=False)

    @property
    def decisions(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.journal.read_text().splitlines()] if self.journal.exists() else []


def test_tasks_shorter_than_a_period_are_judged_together_at_their_true_rate(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path / "levels.jsonl", knee=1, max_level=1)
    for _ in range(50):
        tasks.run(units=90)
    tasks.run(units=300)  # a long one has no rows of those before it
    assert len(tasks.decisions) >= 40
    assert {decision["tuples_s"] for decision in tasks.decisions} == {1 / CALL_S}


def test_the_waits_for_the_first_batches_of_tasks_do_not_pile_up(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path / "levels.jsonl", knee=1, max_level=1)
    for _ in range(3):
        tasks.run(units=90, first_wait_s=100.0)
    assert len(tasks.decisions) == 2


def test_short_tasks_find_the_knee_of_a_service(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path / "levels.jsonl", knee=8)
    for _ in range(600):
        tasks.run(units=100)
    assert tasks.keeper.settled
    assert 7 <= tasks.keeper.level <= 9


def test_calls_that_begin_together_do_not_make_a_level_seem_better_than_it_is(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path / "levels.jsonl", knee=16)
    for _ in range(600):
        tasks.run(units=50)
    seen = [(decision["level"], decision["tuples_s"]) for decision in tasks.decisions]
    assert {level for level, _ in seen} >= {1, 2, 4, 8, 16}
    assert all(rate <= 1.001 * level / CALL_S for level, rate in seen)


def test_a_level_that_tasks_are_too_short_to_judge_is_given_up(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path / "levels.jsonl", knee=64)
    for _ in range(300):
        tasks.run(units=30)
    assert "tasks are too short to judge 16 threads" in {decision["reason"] for decision in tasks.decisions}
    assert tasks.keeper.settled
    assert tasks.keeper.level == 8


@pytest.mark.parametrize("computes_in_calls", [True, False])
def test_seconds_on_cores_are_those_of_the_busy_time(tmp_path: Path, computes_in_calls: bool) -> None:
    tasks = Tasks(tmp_path / "levels.jsonl", knee=1, computes_in_calls=computes_in_calls)
    for _ in range(50):
        tasks.run(units=90)
    assert tasks.keeper.gains_nothing == computes_in_calls


def test_a_busy_clock_counts_what_it_ran_for_and_takes_back_what_shall_not_count() -> None:
    now = {"s": 0.0}
    clock = BusyClock(lambda: now["s"], lambda: now["s"] / 2)
    clock.run()
    now["s"] = 2.0
    clock.starve(0.5)
    counted = clock.spent
    assert counted == Spent(busy_s=2.0, cpu_s=1.0, starved_s=0.5)
    clock.rest()
    now["s"] = 10.0
    assert clock.spent == counted
    clock.run()
    now["s"] = 11.0
    assert clock.spent == Spent(3.0, 1.5, 0.5)
    clock.starve(1.0)
    clock.go_on_from(counted)
    now["s"] = 15.0
    assert clock.spent == Spent(6.0, 3.0, 0.5)


def test_a_rest_that_was_none_counts_after_all() -> None:
    now = {"s": 0.0}
    clock = BusyClock(lambda: now["s"], lambda: now["s"] / 2)
    clock.rest()
    clock.run(after_all=True)  # it had not run before
    for now["s"], after_all in ((2.0, True), (4.0, False), (8.0, True), (16.0, True)):
        clock.rest()
        now["s"] *= 1.5
        clock.run(after_all=after_all)
    now["s"] = 25.0
    assert clock.spent == Spent(busy_s=23.0, cpu_s=11.5)  # all but from 4 to 6


@pytest.mark.parametrize("busy", [True, False])
def test_time_in_which_the_consumer_holds_the_task_up_counts_while_threads_have_work(busy: bool) -> None:
    now = {"s": 0.0}
    keeper = LevelKeeper(64, 1.0, clock=lambda: now["s"], cpu_clock=lambda: 0.0)
    keeper.resume()
    for number in range(12):
        now["s"] += 0.01
        changed = keeper.completed(number, 1, number + 1)
        keeper.pause()
        now["s"] += 0.09
        keeper.resume(was_busy=busy)
    assert (changed == 2) is busy  # a tenth of a second each, else a hundredth


@pytest.mark.parametrize("units", [1, 5, 2_000])
def test_a_fixed_level_stays(tmp_path: Path, units: int) -> None:
    keeper = LevelKeeper(64, 1.0, fixed=7)
    for _ in range(50):
        keeper.next_task()
        for number in range(units):
            keeper.completed(number, 1, units)
    assert keeper.level == 7


def test_a_journal_in_a_new_folder_is_written(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path / "logs" / "levels.jsonl", knee=1, max_level=1)
    tasks.run(units=300)
    assert tasks.decisions


def test_a_journal_that_cannot_be_written_is_told_of_once_and_calls_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    tasks = Tasks(tmp_path / "file" / "levels.jsonl", knee=8)
    for _ in range(20):
        tasks.run(units=300)
    assert tasks.keeper.level > 1
    told = capsys.readouterr().err
    assert told.count("elastic_map: the journal") == 1
    assert "cannot be written on this host" in told
