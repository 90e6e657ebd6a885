"""`penstock journal` as a user calls it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from penstock.cli import WRONG, main
from penstock.cli.journal.decisions import show_decisions
from penstock.control.decision import Expectation
from penstock.control.journal.journal import Journal
from penstock.control.journal.recorded_decision import Judged, RecordedDecision, StepFigures
from penstock.control.setting import Setting
from penstock.measure.latency_sketch import sketch_of
from penstock.measure.observation import (
    BatchTimes,
    CpuObservation,
    Observation,
    OperatorObservation,
    PortObservation,
    ReplicaObservation,
    latency_of,
)
from penstock.measure.replica_threads import ReplicaThreads
from penstock.measure.run_figures import run_figures
from penstock.measure.threads_found import threads_found
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route

CONFIGURATION = Configuration((ElementConfiguration("window", 2, even_route(2, 4)),))


def observation(batch: int, replicas: int) -> Observation:
    """A second of work: 1,000 tuples for each replica, half of it busy, none of the rest waiting."""
    operators = (
        OperatorObservation("window", 1_000, 500, 4, 1, 0.001, 64),
        OperatorObservation("out", 500, 500, 4, 0, None),
    )
    own = [
        ReplicaObservation(
            i, 1_000, 500, 0.5, 0.25, 3, 0.1, (PortObservation("quotes", 1_000, 8_000),),
            (PortObservation("out", 500, 2_000),), operators, jvm_cpu_s=0.01 if batch else None,
        )
        for i in range(replicas)
    ]  # fmt: skip
    return Observation(
        batch, 100.0 + batch, 0.75, 1_000 * replicas, 500 * replicas, {"window": tuple(own)},
        latency_of(sketch_of(np.array([200.0]), np.array([500]))), 70, 1, 100.75 + batch, 0.5,
        times=BatchTimes(0.1, 0.6, 0.05, 0.25 if batch else None), cpu=CpuObservation(1.0, 0.5, 0.1, 0.2, 2.0, 0.02),
        slot_tuples_by_element={"window": (600, 100, 200, 100)},
    )  # fmt: skip


def write(folder: Path) -> None:
    journal = Journal(folder / "journal.jsonl", "prices")
    for batch in range(5):
        replicas = 2 if batch < 3 else 1
        journal.write(observation(batch, replicas), CONFIGURATION.with_replicas("window", replicas))


def called(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["journal", *arguments])
    return ended.value.code


def test_figures_of_a_run_are_those_of_its_micro_batches() -> None:
    figures = run_figures([observation(0, 2), observation(1, 2), observation(2, 1)])
    assert figures is not None
    (element,) = figures.elements
    assert (element.replicas_lowest, element.replicas_highest, element.tuples_in) == (1, 2, 5_000)
    assert element.busy_ratio == pytest.approx(5 * 0.5 / (0.75 * 2 + 1.0 * 2 + 1.0))
    assert element.cpu_ns_per_tuple == pytest.approx(5 * 0.25 / 5_000 * 1e9)
    assert element.jvm_ns_per_tuple == pytest.approx(0.01 / 1_000 * 1e9)  # where it is known
    assert (element.hottest_slot_ratio, element.slots_rebuilt) == (0.6, 15)
    assert [o.name for o in figures.operators] == ["window", "out"]
    assert figures.operators[0].cpu_ns_per_tuple == pytest.approx(1_000)
    assert figures.operators[1].cpu_ns_per_tuple is None
    assert figures.seconds == pytest.approx(2.75)
    assert (figures.plan_s, figures.run_s, figures.before_s) == pytest.approx((0.3, 1.8, 0.5))
    assert run_figures([]) is None


def test_measuring_is_related_to_all_cpu_of_warm_micro_batches() -> None:
    cold = replace(observation(0, 1), cpu=CpuObservation(0, 0, 0, 0, 1.0, 1.0))
    figures = run_figures([cold, cold, cold, observation(3, 1)])
    assert figures is not None
    assert figures.cpu is not None
    assert figures.cpu.measuring_ratio == pytest.approx(0.02 / 3.8)


def test_a_journal_is_shown_in_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path)
    assert called(str(tmp_path)) in (0, None)
    out = capsys.readouterr().out
    for text in (
        "elements of prices", "1-2", "60.0%", "5 micro-batches in 4.8 s: 8,000 tuples in, 4,000 out",
        "highest 200 ms, mean 200 ms", "backlog: at most 70 tuples, the oldest 0.50 s", "5 dead letters",
        "tasks 3.00 s", "measuring 0.10 s (0.53% once warm)",
    ):  # fmt: skip
        assert text in out


def with_threads(batch: int, *reasons: str) -> Observation:
    """A replica for each reason; the first one has settled."""
    plain = observation(batch, len(reasons))
    replicas = tuple(
        replace(own, settled=i == 0, threads=ReplicaThreads(4 + i, 16, 1, waits=i == 0, reason=reason))
        for i, (own, reason) in enumerate(zip(plain.replicas_by_element["window"], reasons, strict=True))
    )
    return replace(plain, replicas_by_element={"window": replicas})


def test_the_newest_reason_of_each_elements_threads_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = "queues up: 2 threads do not satisfy; try queues for 2 of 4 in group 1"
    journal = Journal(tmp_path / "journal.jsonl", "prices")
    for batch, reasons in enumerate((("to begin with", "to begin with"), ("hold: steady", trial))):
        journal.write(with_threads(batch, *reasons), CONFIGURATION)
    assert called(str(tmp_path)) in (0, None)
    out = capsys.readouterr().out
    assert "threads of window, replica 0: 4 threads of at most 16, which wait, settled: hold: steady\n" in out
    assert f"threads of window, replica 1: 5 threads of at most 16, not settled: {trial}\n" in out
    assert "to begin with" not in out
    assert called(str(tmp_path), "--json") in (0, None)
    (element,) = json.loads(capsys.readouterr().out)["elements"]
    assert [own["reason"] for own in element["threads_found"]] == ["hold: steady", trial]


def test_replicas_of_which_the_same_is_true_share_a_line_and_fixed_threads_have_none() -> None:
    same = ReplicaThreads(4, 8, reason="hold: steady")
    replicas = [replace(own, threads=same) for own in observation(0, 3).replicas_by_element["window"]]
    (found,) = threads_found([*replicas[:2], replace(replicas[2], threads=ReplicaThreads(5, 64))])
    assert (found.replicas, found.level, found.reason) == ((0, 1), 4, "hold: steady")
    assert threads_found(observation(0, 2).replicas_by_element["window"]) == ()


def test_a_journal_is_one_json_object_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path)
    picture = tmp_path / "run.svg"
    assert called(str(tmp_path / "journal.jsonl"), "--json", "--picture", str(picture)) in (0, None)
    shown = capsys.readouterr()
    body = json.loads(shown.out)
    assert (body["application"], body["tuples_in"], body["elements"][0]["replicas_highest"]) == ("prices", 8_000, 2)
    assert picture.read_text().startswith("<?xml")
    assert "wrote" in shown.err


def test_mistakes_are_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Journal(tmp_path / "journal.jsonl", "prices")
    for arguments, sentence in (
        ([str(tmp_path / "none")], "cannot be read"),
        ([str(tmp_path)], "has no micro-batch yet"),
        ([str(tmp_path), "--picture", "run.txt"], "--picture is a file that ends in .svg or .png"),
    ):
        assert called(*arguments) == WRONG
        assert sentence in capsys.readouterr().err


def test_decisions_are_shown_with_what_came_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path)
    journal = Journal(tmp_path / "journal.jsonl", "prices")
    for step, (latency_s, decided) in enumerate(((0.4, 1), (0.5, 1)), 1):
        seen = StepFigures(2_000.0, 1_900.0, 70.0, 0.5, latency_s)
        saturated = ("utilization at or above 1", *(("correction out of bounds",) if step == 2 else ()))
        expected = Expectation(2_100.0, 5_000.0, 0.4, saturated=saturated)
        journal.decide(step, RecordedDecision(
            step, "mpc", Setting(2 if step == 1 else 1), Setting(1), Setting(decided), "demand falls", seen, expected,
            broken=step == 2, requested=step == 1, highest_useful_replicas=2, measured=step == 2,
        ))  # fmt: skip
    assert called(str(tmp_path)) in (0, None)
    out = capsys.readouterr().out
    for text in (
        "what mpc changed", "demand falls", "2 replicas", "400 ms", "500 ms", "control: 2 steps, 1 change, the goal",
        "broken in 1 and not measured in 1, 1.50 replicas on average",
        "latency was 20% off what was expected (median of 1 steps)",
        "at most 2 replicas useful", "models at their limit, a bound in place of the formula: utilization at or",
        "above 1 (in 2 steps), correction out of bounds (in 1 step)",
    ):  # fmt: skip
        assert text in out
    assert called(str(tmp_path), "--json") in (0, None)
    body = json.loads(capsys.readouterr().out)
    assert [own["decision"]["decided"]["replicas"] for own in body["decisions"]] == [1, 1]
    assert body["decisions"][0]["outcome"]["latency_mean_s"] == 0.5


def test_a_percentile_that_is_judged_apart_is_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path)
    journal = Journal(tmp_path / "journal.jsonl", "prices")
    for step in (1, 2):
        seen = StepFigures(2_000.0, 1_900.0, 70.0, 0.5, 0.2, 0.6)
        one = RecordedDecision(step, "mpc", Setting(2), Setting(2), Setting(2), "as it is", seen, broken_p95=step == 2)
        journal.decide(step, one)
    assert called(str(tmp_path)) in (0, None)
    out = capsys.readouterr().out
    assert "the goal broken in 0" in out
    assert "the 95th percentile was above its bound in 1 of 2 steps" in out


def test_a_table_without_the_first_changes_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    decisions = [
        Judged(RecordedDecision(n, "mpc", Setting(1), Setting(2), Setting(2), "demand", requested=True), None)
        for n in range(1, 46)
    ]
    show_decisions(Console(width=200), decisions)
    assert "what mpc changed: the last 40 of 45 changes" in capsys.readouterr().out
    show_decisions(Console(width=200), decisions[:40])
    assert "the last" not in capsys.readouterr().out
