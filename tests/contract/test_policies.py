"""What every policy of the application level must do, on the twin."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.connectors.trace.arrivals import counted_arrivals
from penstock.control.decision import Change
from penstock.control.goals.goal import Goal, latency, throughput
from penstock.control.goals.goal_check import breaks
from penstock.control.journal.replay import replay
from penstock.control.loop.loop import Loop, Record
from penstock.control.loop.named_policies import named_policy
from penstock.control.mpc.presets import default_mpc
from penstock.control.policy import Policy
from penstock.control.policy_parameters import POLICY_NAMES
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.guard import Guard
from penstock.control.setting import Grid, Setting
from penstock.simulate.micro_batch.plant import BatchPlant
from penstock.simulate.plant_shape import PlantShape
from penstock.simulate.shape_plant import shape_plant

CAP = 24_000
GRID = Grid(tuple(range(1, 13)), caps_tuples=(CAP,))
WITH_SETTINGS = ("mpc:horizon=3", "th-node:horizon=3,switching=no,load=random_walk", "flink-autoscaler:window_s=300")
everyone = pytest.mark.parametrize("name", [*POLICY_NAMES, *WITH_SETTINGS])


def policy_of(name: str) -> Policy:
    return named_policy(name, throughput(), GRID, speed_up=60.0)


def plant(rates: list[float], shape: PlantShape | None = None, start: int = 6, seed: int = 1) -> BatchPlant:
    arrivals = counted_arrivals(np.arange(len(rates) + 1.0), np.round(rates).astype(np.int64))
    own = shape or PlantShape(noise=0.0)
    return shape_plant(own, arrivals, Setting(start, None, CAP), end_s=float(len(rates)), seed=seed)


def run(name: str, rates: list[float], start: int = 6) -> list[Record]:
    return list(Loop(policy_of(name), throughput()).run(plant(rates, start=start)))


@everyone
def test_stays_within_the_grid(name: str) -> None:
    rates = [float(x) for x in 6000 + 5500 * np.sin(np.arange(60) / 5)]
    assert all(1 <= r.seen.setting.replicas <= 12 for r in run(name, rates))


@everyone
def test_the_same_run_gives_the_same_decisions(name: str) -> None:
    rates = [float(x) for x in np.random.default_rng(2).uniform(1000, 8000, 40)]
    assert [r.wanted for r in run(name, rates)] == [r.wanted for r in run(name, rates)]


@everyone
def test_a_replayed_run_gives_the_decisions_of_the_run(name: str) -> None:
    records = run(name, [3000.0] * 20 + [7000.0] * 20)
    replayed = replay([r.seen for r in records], policy_of(name))
    assert [one.decision for one in replayed] == [r.wanted for r in records]
    assert all(one.agrees for one in replayed[:-1])


@everyone
def test_every_decision_has_a_reason(name: str) -> None:
    assert all(r.wanted.because for r in run(name, [4000.0] * 15))


@everyone
def test_nothing_at_all_is_survived(name: str) -> None:
    assert run(name, [0.0] * 20)


STEADY = [
    name for name in POLICY_NAMES if name not in ("thresholds", "thresholds-0.95", "spl", "ds2")
]  # these hunt at some loads


@pytest.mark.parametrize("name", STEADY)
def test_a_steady_load_stops_producing_changes(name: str) -> None:
    records = run(name, [4200.0] * 120)
    late = [r for r in records if r.seen.ended_at_s > 80 and isinstance(r.wanted, Change)]
    assert len(late) <= 2


@pytest.mark.parametrize(
    "name", ["mpc", "thresholds", "ds2", "kubernetes-hpa", "flink-autoscaler", "spark-batch-ratio"]
)
def test_more_load_gets_more_replicas(name: str) -> None:
    records = run(name, [1500.0] * 60 + [8000.0] * 60, start=3)
    assert records[-1].seen.setting.replicas > 5


@pytest.mark.parametrize("goal", [throughput(), latency(p95_ms=900)], ids=["throughput", "latency"])
def test_mpc_keeps_the_goal_with_fewer_replicas_than_there_are(goal: Goal) -> None:
    policy = default_mpc(goal, GRID, pause_s=0.2, interval_s=0.2)
    rates = [float(x) for x in 4500 + 1500 * np.sin(np.arange(120) / 12)]
    records = list(Loop(policy, goal, application_rules(Guard())).run(plant(rates)))
    settled = [r for r in records if r.seen.ended_at_s > 20]
    assert sum(breaks(goal, r.seen) for r in settled) <= 3
    assert np.mean([r.seen.setting.replicas for r in settled]) < 9.5
