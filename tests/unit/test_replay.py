"""Control steps out of a journal, and the command that replays it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.replay import ReplayWish, replay_command
from penstock.control.configuration import Configuration, ElementConfiguration, even_route
from penstock.control.journal import Journal
from penstock.control.observed_steps import ObservedBatch, control_steps
from penstock.errors import InputError
from penstock.measure.observation import (
    ArrivalObservation,
    BatchTimes,
    Observation,
    PortObservation,
    ReplicaObservation,
)

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


def test_replay_prints_what_a_policy_would_have_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = journal(tmp_path / "journal.jsonl", 24)
    replay_command(ReplayWish(tmp_path, "mpc", None, 8, 1.0, True))
    body = json.loads(capsys.readouterr().out)
    assert (body["application"], body["policy"], body["steps"]) == ("app", "mpc", 12)
    assert body["mean_replicas_used"] == 2
    assert max(d["wanted"] for d in body["decisions"][6:]) > 2
    replay_command(ReplayWish(path, "thresholds", 500.0, None, 1.0, False))
    assert "would change" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"policy": "mcp"}, "there is no policy 'mcp'; .*did you mean 'mpc'"),
        ({"speed_up": 0.0}, "--speed-up is above 0; got 0"),
        ({"highest": 0}, "--max-replicas is at least 1; got 0"),
    ],
)
def test_wrong_wishes_are_refused(tmp_path: Path, wish: dict[str, object], sentence: str) -> None:
    path = journal(tmp_path / "journal.jsonl", 4)
    asked = {"journal": path, "policy": "mpc", "p95_ms": None, "highest": 4, "speed_up": 1.0, "as_json": True}
    with pytest.raises(InputError, match=sentence):
        replay_command(ReplayWish(**(asked | wish)))  # type: ignore[arg-type]


def test_a_journal_without_a_whole_step_is_refused(tmp_path: Path) -> None:
    path = journal(tmp_path / "journal.jsonl", 1)
    with pytest.raises(InputError, match="no whole control step"):
        replay_command(ReplayWish(path, "mpc", None, None, 1.0, True))
