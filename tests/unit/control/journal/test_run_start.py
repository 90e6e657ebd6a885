"""What a run was started with: kept in its journal, and taken up by a replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.cli.replay import steps_of
from penstock.control.goals.goal import Price, latency
from penstock.control.goals.limits import Limits
from penstock.control.journal.journal import Journal, read_journal
from penstock.control.journal.run_start import UNKNOWN_START, RunStart, run_start
from penstock.control.loop.control_request import control_request
from penstock.errors import InputError
from tests.unit.control.journal.test_replay import configuration, observation, replayed

START = RunStart(
    100.0, latency(mean_ms=300, p95_ms=500), Limits(min_replicas=2, max_replicas=6), "mpc", Price(), cores=2,
    executors=0, at_s=1000.0,
)  # fmt: skip


def write(folder: Path, *starts: tuple[RunStart | None, int], part_bytes: int = 1 << 30) -> Path:
    """A journal with so many micro-batches of each start."""
    batch = 0
    for start, batches in starts:
        journal = Journal(folder / "journal.jsonl", "app", part_bytes=part_bytes)
        if start is not None:
            journal.begin(start)
        for number in range(batches):
            journal.write(observation(batch + number), configuration(2))
        batch += batches
    return folder


def test_the_newest_start_is_read_again(tmp_path: Path) -> None:
    run = read_journal(write(tmp_path, (RunStart(), 4), (START, 3), (None, 2)) / "journal.jsonl")
    assert run.start == START
    assert run.first_batches == (0, 4)
    assert [len(lines) for lines in run.by_start()] == [4, 5]


def test_a_start_is_known_after_its_part_is_gone(tmp_path: Path) -> None:
    write(tmp_path, (START, 9), part_bytes=200)
    run = read_journal(tmp_path / "journal.jsonl")
    assert len(run.lines) < 9, "earlier parts are gone"
    assert run.start == START
    assert [len(lines) for lines in run.by_start()] == [len(run.lines)]


def test_a_journal_without_a_start_reads_as_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = read_journal(write(tmp_path, (None, 27)) / "journal.jsonl")
    assert (run.start, run.first_batches) == (UNKNOWN_START, ())
    assert replayed(tmp_path, capsys, None)["steps"] == 12


def test_a_start_has_what_control_was_asked_for() -> None:
    request = control_request(START.goal, limits=START.limits)
    assert run_start(100.0, request, cores=2, executors=0, at_s=1000.0) == START
    assert run_start(2.0, None) == RunStart(2.0)


def test_a_replay_has_goal_limits_and_speed_up_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, (START, 27))
    body = replayed(tmp_path, capsys, None, policy="static")
    assert body["speed_up"] == 100
    assert (body["steps"], body["not_measured"]) == (12, 12)  # a latency goal, and no latency in the journal
    assert {decision["wanted"] for decision in body["decisions"]} == {6}


def test_what_is_asked_for_goes_before_what_the_run_had(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, (START, 27))
    body = replayed(tmp_path, capsys, 2.0, policy="static", goal="throughput", limits=("max_replicas=4",))
    assert body["speed_up"] == 2
    assert (body["violations"], body["violations_p95"]) == (0, None)
    assert {decision["wanted"] for decision in body["decisions"]} == {4}
    with pytest.raises(InputError, match="max_replicas of the limits is at least min_replicas, 2; got 1"):
        replayed(tmp_path, capsys, None, limits=("max_replicas=1",))


def test_rivals_follow_the_speed_up_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, (RunStart(100.0, limits=Limits(max_replicas=8)), 27))
    options: dict[str, Any] = {"policy": "flink-autoscaler:target=0.1,boundary=0.05"}
    assert replayed(tmp_path, capsys, None, **options)["would_change"] > 0
    assert replayed(tmp_path, capsys, 1.0, **options)["would_change"] == 0, "its window of 15 minutes is never full"


@pytest.mark.parametrize(("dry_run", "chosen"), [(False, False), (True, True)])
def test_frequencies_that_the_machine_did_not_have_are_not_chosen(
    dry_run: bool, chosen: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = Limits(frequencies_ghz=(1.2, 1.6), frequency_dry_run=dry_run)
    write(tmp_path, (RunStart(limits=limits), 27))
    body = replayed(tmp_path, capsys, None, policy="th-power")
    assert any("GHz" in decision["setting"] for decision in body["decisions"]) == chosen


def test_the_first_micro_batches_of_every_start_are_cold(tmp_path: Path) -> None:
    write(tmp_path, (START, 7), (START, 7), (START, 2))
    steps = steps_of(read_journal(tmp_path / "journal.jsonl"))
    assert [(step.step, step.last_batch) for step in steps] == [(1, 4), (2, 6), (3, 11), (4, 13)]
