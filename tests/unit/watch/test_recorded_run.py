"""A run read from its journal: live, ended, interrupted, of an earlier version, or damaged."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.control.goals.goal import latency
from penstock.control.journal.history import History, JournalSettings, events_path
from penstock.control.journal.journal import read_journal
from penstock.control.journal.levels import Levels, read_level
from penstock.control.journal.point import Point, merged
from penstock.errors import InputError
from penstock.watch.recorded.decision_facts import decision_body, decision_row
from penstock.watch.recorded.driver_state import is_driven
from penstock.watch.recorded.facts import figures_of, run_body
from penstock.watch.recorded.plain_json import json_text
from penstock.watch.recorded.run_reader import RunReader, journal_of
from penstock.watch.recorded.run_state import RunState
from penstock.watch.recorded.series import Series, columns
from tests.reference.damaged_journals import damage, whole_run
from tests.reference.made_run import BEGIN_S, PERIOD_S, START, configured, graph, lease, seen, write_run

DAMAGED = int(os.environ.get("PENSTOCK_DAMAGED_JOURNALS", "200"))  # make journals has 10,000


def opened(path: Path) -> RunReader:
    reader = RunReader(path)
    reader.open()
    return reader


def test_a_run_that_ended_is_told_with_all_that_it_has(tmp_path: Path) -> None:
    body = run_body(opened(write_run(tmp_path)))
    assert body["status"] == "stopped"
    assert body["summary"].startswith("Stopped. Met p95 <= 500 ms in 27 of 30 control steps. Bottleneck: ")
    assert [own["name"] for own in body["graph"]["operators"]] == ["quotes", "trades", "window", "out"]
    assert body["graph"]["operators"][2]["queued"]
    assert (body["batch"], body["tuples_in"], body["checkpoint_bytes"]) == (59, 60_000, 12345)
    assert len(body["replicas"]) == 4
    assert (body["saso"]["steps"], body["saso"]["changes"], body["saso"]["violations"]) == (30, 3, 3)
    assert body["unreadable_lines"] == 0


def test_the_figures_are_those_of_the_newest_micro_batch_to_nine_digits(tmp_path: Path) -> None:
    found, made = figures_of(opened(write_run(tmp_path)).state.newest), seen(59, 2, 700.0)
    assert made.arrivals is not None
    assert made.latency is not None
    assert found["Arrivals"] == pytest.approx(made.arrivals.rate_tuples_s, rel=1e-8)
    assert found["Served"] == pytest.approx(made.rate_tuples_s, rel=1e-8)
    assert (found["Backlog"], found["p95 latency"]) == (made.backlog_tuples, made.latency.p95_ms)


def test_what_replicas_cost_so_far_is_told_beside_static_provisioning(tmp_path: Path) -> None:
    body = run_body(opened(write_run(tmp_path, 20)))
    assert body["cost"]["core_hours"] == pytest.approx(2 * 20 * PERIOD_S / 3600, rel=0.2)  # the first one is shorter
    assert body["cost"]["static_core_hours"] == pytest.approx(2 * body["cost"]["core_hours"])
    assert body["cost"]["cost"] == pytest.approx(0.05 * body["cost"]["core_hours"])


def test_static_provisioning_is_of_the_highest_limit_that_the_run_had(tmp_path: Path) -> None:
    path = write_run(tmp_path, 20, end=None)
    history = History(path, lambda fused: graph())
    for limits in ({"max_replicas": 6}, {"max_replicas": 1}):
        history.event("command", {"id": "1", "command": {"limits": limits}, "outcome": "done", "limits": limits})
    body = run_body(opened(path))
    assert (body["limits"], body["static_replicas"]) == ({"max_replicas": 1}, 6)
    assert body["cost"]["static_core_hours"] == pytest.approx(3 * body["cost"]["core_hours"])


def test_a_new_part_of_the_events_is_no_new_start_and_forgets_no_command(tmp_path: Path) -> None:
    few = JournalSettings(disk_mb=1)
    path = write_run(tmp_path, 4, end=None, settings=few)
    live, history = opened(path), History(path, lambda fused: graph(), few)
    history.begin(replace(START, at_s=BEGIN_S + 60))
    history.batches([(seen(4), configured(2))])
    history.event("command", {"id": "1", "command": {"paused": True}, "outcome": "done"})
    history.event("control", {"id": "2", "command": {"goal": {}}, "outcome": "done", "goal": {"p95_s": 0.9}})
    first_part = events_path(path).stat().st_ino
    while events_path(path).stat().st_ino == first_part:
        history.event("checkpoint_bytes", {"bytes": 1, "text": "x" * 1_000})
        history.event("checkpoint_bytes", {"bytes": 2})
        live.poll()
    for reader in (live, opened(path)):
        state = reader.state
        assert (state.paused, state.goal, state.checkpoint_bytes) == (True, latency(p95_ms=900), 2)
        assert [own["id"] for own in state.commands] == ["1", "2"]
    assert (live.state.starts, len(live.state.notes)) == (2, 1)


def test_executors_of_a_cluster_are_followed_over_time(tmp_path: Path) -> None:
    path = write_run(tmp_path, 4, end=None)
    history = History(path, lambda fused: graph())
    for batch, executors in ((4, 2), (5, 2), (6, 3)):
        history.executors(batch, executors)
        history.batches([(seen(batch), configured(2))])
    history.end("stopped")
    state = opened(path).state
    assert state.executors == 3
    assert merged(state.series.between(None, None, 600)[1]).ranges["executors"][0::2] == (2.0, 3.0)


def test_a_driver_that_was_killed_shows_as_interrupted(tmp_path: Path) -> None:
    path = write_run(tmp_path, end=None)
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        lease(tmp_path, process.pid)
        assert is_driven(tmp_path)
        process.kill()
        while is_driven(tmp_path):  # a zombie until somebody waits for it, and gone all the same
            time.sleep(0.01)
    finally:
        process.wait()
    body = run_body(opened(path))
    assert body["status"] == "interrupted"
    assert body["summary"].startswith("Interrupted: the driver has gone without an end.")


def test_what_is_added_is_found_by_the_next_look(tmp_path: Path) -> None:
    path = write_run(tmp_path, 20, end=None)
    reader = opened(path)
    other = tmp_path / "other"
    whole = write_run(other, 30)
    with path.open("ab") as file:
        file.writelines(whole.read_bytes().splitlines(keepends=True)[len(path.read_bytes().splitlines()) :])
    with events_path(path).open("ab") as file:
        file.write(b'{"at_s":1,"end":{"reason":"finished"}}\n{"at_s":1')
    assert {"observation", "decision", "run"} <= set(reader.poll())
    assert reader.state.newest is not None
    assert (reader.state.newest.batch, reader.status) == (29, "finished")
    assert reader.poll() == []


def test_a_journal_that_goes_on_in_a_new_part_is_followed(tmp_path: Path) -> None:
    few = JournalSettings(disk_mb=1)
    reader = opened(write_run(tmp_path, 400, end=None, settings=few))
    assert reader.state.newest is not None
    assert reader.state.newest.batch == 399
    total = reader.state.series.total()
    assert total is not None
    assert total.batches > len(read_journal(tmp_path / "journal.jsonl").lines) / 2


def test_equal_holds_are_one_row_and_a_step_within_opens(tmp_path: Path) -> None:
    state = opened(write_run(tmp_path)).state
    rows = [decision_row(own) for own in state.decisions]
    assert [row["kind"] for row in rows if row["kind"] != "hold"] == ["up", "down", "up"]
    assert any(row["steps"] > 1 for row in rows)
    body = decision_body(state, 10)
    assert body is not None
    assert body["expected"]["latency_mean_s"] == 0.11
    assert body["measured"]["latency_mean_s"] == 0.12
    assert body["error"]["latency_mean_s"] == pytest.approx(-0.01)
    assert body["alternatives"] == [{"setting": "4 replicas", "cost_ratio": 1.25}]
    assert decision_body(state, 99) is None


def test_what_a_decision_expected_is_compared_with_the_step_after_it(tmp_path: Path) -> None:
    path = write_run(tmp_path)
    for source in ("events", "lines"):
        state = opened(path).state
        later = next(own for own in state.decisions if own.first_step == 11)
        body = decision_body(state, 10)
        assert later.steps > 1, source
        assert body is not None, source
        assert body["measured"]["backlog_tuples"] == 40.0 + 11, source
        assert body["error"]["backlog_tuples"] == 30.0 - (40.0 + 11), source
        events_path(path).unlink(missing_ok=True)


def test_decisions_agree_whether_they_are_read_from_events_or_lines(tmp_path: Path) -> None:
    path = write_run(tmp_path)
    by_events = [decision_row(own) for own in opened(path).state.decisions]
    events_path(path).unlink()
    by_lines = [decision_row(own) for own in opened(path).state.decisions]
    keys = ("step", "first_step", "steps", "kind", "because")
    assert [[row[key] for key in keys] for row in by_events] == [[row[key] for key in keys] for row in by_lines]


def test_what_is_skipped_when_a_run_is_opened_changes_nothing_that_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_run(tmp_path)
    whole = RunState()
    for line in events_path(path).read_bytes().splitlines():
        whole.event_line(line)
    monkeypatch.setattr("penstock.watch.recorded.run_reader.MOST_DECISIONS", 4)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])  # without lines of micro-batches
    state = opened(path).state
    assert state.configuration == whole.configuration
    assert list(state.decisions) == list(whole.decisions)[-4:]
    assert state.kinds == whole.kinds == {"up": 2, "down": 1, "other": 0, "hold": 27}
    assert (state.letters, state.checkpoint_bytes, state.end) == (whole.letters, whole.checkpoint_bytes, whole.end)
    assert state.unreadable == 0


def test_a_journal_of_version_1_is_shown_without_a_graph(tmp_path: Path) -> None:
    path = write_run(tmp_path)
    events_path(path).unlink()
    lines = path.read_text().splitlines()
    path.write_text("\n".join(['{"penstock_journal":1,"application":"old","single":[]}', *lines[1:], ""]))
    body = run_body(opened(path))
    assert (body["application"], body["graph"]["operators"], body["batch"]) == ("old", [], 59)
    assert len(read_journal(path).lines) == 60


def test_what_has_no_journal_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="has no journal: it is not the checkpoint of a run, or the run is still starting"
    ):
        journal_of(tmp_path)


def test_a_stretch_is_given_in_so_many_points_with_its_extremes(tmp_path: Path) -> None:
    series = opened(write_run(tmp_path)).state.series
    _, rows = series.between(None, None, 5)
    assert 1 <= len(rows) <= 5
    assert merged(rows).ranges["p95"][2] == 700.0
    assert sum(row.batches for row in rows) == 60
    _, late = series.between(BEGIN_S + 20, BEGIN_S + 25, 600)
    assert all(BEGIN_S + 18 <= row.begin_s <= BEGIN_S + 26 for row in late)
    assert columns(late)["series"]["p95"]["high"]
    assert series.between(BEGIN_S + 1e6, BEGIN_S + 2e6, 10)[1] == []


def test_a_week_is_opened_from_its_levels_alone(tmp_path: Path) -> None:
    path = write_run(tmp_path, 10, end=None, begin_s=BEGIN_S + 7 * 86_400)
    levels = Levels(tmp_path / "week.jsonl", 1 << 26)
    for minute in range(7 * 24 * 60):
        levels._add("minutes", Point(BEGIN_S + 60 * minute, 60.0, 120, minute, 100, ranges={"p95": (1.0, 2.0, 3.0)}))
    levels.close()
    for level in ("minutes", "hours"):
        (tmp_path / f"week.{level}.jsonl").rename(tmp_path / f"journal.{level}.jsonl")
    series = opened(path).state.series
    level, rows = series.between(None, None, 600)
    assert level == "hours"
    assert sum(row.batches for row in rows) == 7 * 24 * 60 * 120 + 10
    assert series.between(BEGIN_S, BEGIN_S + 86_400, 2000)[0] == "minutes"


@given(st.lists(st.floats(0.1, 100.0), min_size=1, max_size=80))
@settings(max_examples=30, deadline=None)
def test_memory_and_disk_have_the_same_rows(tmp_path_factory: pytest.TempPathFactory, spans: list[float]) -> None:
    path, at_s = tmp_path_factory.mktemp("run") / "journal.jsonl", BEGIN_S
    series, levels = Series(), Levels(path, 1 << 20)
    for number, span_s in enumerate(spans):
        point = Point(at_s, span_s, 1, number)
        series.add(point)
        levels.add(point)
        at_s += span_s
    levels.close()
    total = series.total()
    assert total is not None
    assert total.batches == len(spans) == merged(read_level(path, "seconds")).batches


def show_all(folder: Path) -> None:
    """Whatever the page asks for."""
    reader = opened(folder / "journal.jsonl")
    json.loads(json_text(run_body(reader)))
    json.loads(json_text(columns(reader.state.series.between(None, None, 100)[1])))
    for own in reader.state.decisions:
        json.loads(json_text(decision_row(own)))
        json.loads(json_text(decision_body(reader.state, own.decision.step)))
    reader.poll()


def test_damaged_journals_are_shown_as_far_as_they_can_be_read(tmp_path: Path) -> None:
    wholes = whole_run(tmp_path / "whole")
    for seed in range(DAMAGED):
        damage(tmp_path, wholes, random.Random(seed))
        show_all(tmp_path)


def test_periods_are_half_seconds() -> None:
    first, second = seen(0), seen(1)
    assert second.committed_at_s is not None
    assert first.committed_at_s is not None
    assert second.committed_at_s - first.committed_at_s == PERIOD_S
