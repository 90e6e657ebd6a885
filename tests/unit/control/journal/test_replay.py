"""Control steps out of a journal, and the command that replays it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.options.control_options import ControlOptions
from penstock.cli.replay import ReplayRequest, replay_command, short_options
from penstock.control.journal.journal import Journal
from penstock.control.loop.observed_steps import ObservedBatch, control_steps
from penstock.control.policy_parameters import POLICY_NAMES
from penstock.errors import InputError
from penstock.measure.observation import (
    ArrivalObservation,
    BatchTimes,
    Observation,
    PortObservation,
    ReplicaObservation,
)
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route

SLOTS = 8


def configuration(replicas: int) -> Configuration:
    keyed = ElementConfiguration("window", replicas, even_route(replicas, SLOTS))
    return Configuration((ElementConfiguration("source", 1), keyed))


def observation(batch: int, replicas: int = 2, tuples: int = 600, arrived: int = 600) -> Observation:
    """Half a second: 0.1 s of overhead, 0.1 s for the source's element, 0.3 s for the busiest window replica."""
    source = ReplicaObservation(0, tuples, tuples, 0.1, 0.1, 0, outputs=(PortObservation("trades", tuples, 0),))
    windows = tuple(
        ReplicaObservation(
            r, tuples // replicas, 10, 0.3 if r == 0 else 0.2, 0.2, 0,
            inputs=(PortObservation("trades", tuples // replicas, 0),), service_variance_s2=1e-6,
        )
        for r in range(replicas)
    )  # fmt: skip
    return Observation(
        batch=batch, started_at_s=0.5 * batch, micro_batch_s=0.5, tuples_in=tuples, tuples_out=20,
        replicas_by_element={"source": (source,), "window": windows}, backlog_tuples=50,
        committed_at_s=0.5 * batch + 0.5, arrivals=ArrivalObservation(arrived, 0.5, 0.001, 1e-6),
        times=BatchTimes(0.0, 0.5, 0.0, before_s=0.0),
        slot_tuples_by_element={"window": (tuples // 2, *([tuples // 2 // (SLOTS - 1)] * (SLOTS - 1)))},
    )  # fmt: skip


def test_micro_batches_make_steps_of_at_least_a_period() -> None:
    batches = [ObservedBatch(observation(b), configuration(2)) for b in range(6)]
    seen = list(control_steps(batches))
    assert [s.step for s in seen] == [1, 2, 3]
    first = seen[0]
    assert (first.period_s, first.micro_batches, first.arrived_tuples) == (1.0, 2, 1200)
    assert first.setting.replicas == 2
    assert first.busy_ratio == pytest.approx(2 * (0.1 + 0.3))
    assert first.overhead_s == pytest.approx(0.1 + 0.1)  # more replicas do not shorten the source's element
    assert first.service_s == pytest.approx((0.3 + 0.2) / 600)
    assert first.arrival_cv == pytest.approx(1.0)
    assert first.service_cv > 0
    assert first.load_by_slot[0] > 5 * first.load_by_slot[1]
    assert [(e.name, e.inputs) for e in first.elements] == [("source", ()), ("window", ("source",))]
    assert not first.reconfigured


def test_a_change_of_the_configuration_ends_a_step() -> None:
    batches = [ObservedBatch(observation(b, n), configuration(n)) for b, n in enumerate((2, 4, 4))]
    seen = list(control_steps(batches))
    assert [(s.setting.replicas, s.micro_batches, s.reconfigured) for s in seen] == [(2, 1, False), (4, 2, True)]


def journal(path: Path, batches: int) -> Path:
    written = Journal(path, "app")
    for batch in range(batches):
        written.write(observation(batch, tuples=600, arrived=600 if batch < 10 else 1500), configuration(2))
    return path


def replayed(
    path: Path, capsys: pytest.CaptureFixture[str], speed_up: float | None = 1.0, **options: Any
) -> dict[str, Any]:
    """The JSON object of `penstock replay` with these options."""
    replay_command(ReplayRequest(path, ControlOptions(**options), speed_up, as_json=True))
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_replay_prints_what_a_policy_would_have_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = journal(tmp_path / "journal.jsonl", 27)
    body = replayed(tmp_path, capsys, limits=("max_replicas=8",))
    assert (body["application"], body["policy"], body["steps"]) == ("app", "mpc", 12)
    assert body["mean_replicas_used"] == 2
    assert max(d["wanted"] for d in body["decisions"][6:]) > 2
    replay_command(ReplayRequest(path, ControlOptions("latency p95_ms=500", "thresholds")))
    assert "would change" in capsys.readouterr().out


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_policy_keeps_to_the_limits_given(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal(tmp_path / "journal.jsonl", 40)
    options: dict[str, Any] = {"policy": name, "goal": "latency mean_ms=400"}
    one_to_four, three, one = ("max_replicas=4",), ("min_replicas=3", "max_replicas=4"), ("max_replicas=1",)
    six = ("min_replicas=6",)  # more than the run had
    for limits, lowest, highest in ((one_to_four, 1, 4), (three, 3, 4), (one, 1, 1), (six, 6, 6), ((), 1, 2)):
        body = replayed(tmp_path, capsys, speed_up=100.0, limits=limits, **options)
        assert all(lowest <= d["wanted"] <= highest for d in body["decisions"])
        assert not any("GHz" in d["setting"] for d in body["decisions"])


def test_frequencies_of_the_limits_are_chosen_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal(tmp_path / "journal.jsonl", 20)
    limits = ("max_replicas=4", "frequencies_ghz=1.2,1.6")
    body = replayed(tmp_path, capsys, policy="th-power", limits=limits)
    wanted = {d["setting"].split(" at ")[1] for d in body["decisions"] if " at " in d["setting"]}
    assert wanted
    assert wanted <= {"1.2 GHz", "1.6 GHz"}


def test_goal_price_and_settings_are_those_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal(tmp_path / "journal.jsonl", 27)
    easy = replayed(tmp_path, capsys, goal="throughput", policy="static:replicas=1")
    hard = replayed(tmp_path, capsys, goal="latency mean_ms=1", policy="static:replicas=1")
    assert (easy["violations"], easy["not_measured"]) == (0, 0)
    assert (hard["violations"], hard["not_measured"]) == (0, 12)  # results have no latency in this journal
    assert hard["policy"] == "static:replicas=1"
    assert {d["wanted"] for d in hard["decisions"]} == {1}
    free = replayed(tmp_path, capsys, limits=("max_replicas=8",), prices=("core_hour=0", "kwh=1"), payback="eager")
    assert free["steps"] == 12


@pytest.mark.parametrize(
    ("options", "speed_up", "sentences"),
    [
        ({"policy": "mcp"}, 1.0, ["there is no policy 'mcp'; .*did you mean 'mpc'"]),
        ({}, 0.0, ["--speed-up is above 0; got 0"]),
        ({"limits": ("max_replicas=0",)}, 1.0, ["max_replicas of the limits is a whole number of at least 1; got 0"]),
        (
            {"goal": "latncy", "policy": "ds2:headrom=2"},
            -1.0,
            [
                "--speed-up is above 0; got -1",
                "--goal is 'throughput'",
                "policy 'ds2' takes .*; did you mean 'headroom'",
            ],
        ),
    ],
)
def test_wrong_wishes_are_refused(
    tmp_path: Path, options: dict[str, Any], speed_up: float, sentences: list[str]
) -> None:
    path = journal(tmp_path / "journal.jsonl", 4)
    with pytest.raises(InputError) as raised:
        replay_command(ReplayRequest(path, ControlOptions(**options), speed_up))
    lines = str(raised.value).splitlines()
    assert len(lines) == len(sentences)
    assert all(re.match(sentence, line) for sentence, line in zip(sentences, lines, strict=True))


def test_two_options_have_a_short_form() -> None:
    short = short_options(ControlOptions(limits=("min_replicas=2",)), 500.0, 4)
    assert (short.goal, short.limits) == ("latency p95_ms=500", ("min_replicas=2", "max_replicas=4"))
    with pytest.raises(InputError, match="--p95-ms is short for --goal"):
        short_options(ControlOptions("throughput"), 500.0, None)


def test_a_journal_without_a_whole_step_is_refused(tmp_path: Path) -> None:
    path = journal(tmp_path / "journal.jsonl", 1)
    with pytest.raises(InputError, match="no whole control step"):
        replay_command(ReplayRequest(path))
