"""MPC as it runs on Spark: as early as executors need it, and with few caps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.connectors.trace.arrivals import counted_arrivals
from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision
from penstock.control.goals.goal import Goal, Price, latency, throughput
from penstock.control.goals.goal_check import breaks
from penstock.control.loop.loop import Loop, Record
from penstock.control.mpc.live import LiveMpc, helping, near
from penstock.control.mpc.policy import Mpc
from penstock.control.mpc.presets import default_mpc, paper_strategy
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.guard import Guard
from penstock.control.rules.useful_replicas import HighestReplicas
from penstock.control.setting import Grid, Setting
from penstock.plan.configuration import Configuration
from penstock.simulate.plant_shape import PlantShape
from penstock.simulate.shape_plant import shape_plant

GRID = Grid(tuple(range(1, 13)), caps_tuples=(3_000, 12_000, 48_000))


class Slow:
    """A plant whose executors are said to take so long."""

    def __init__(self, start_s: float | None) -> None:
        rates = np.linspace(1_000, 4_000, 60).astype(np.int64)
        self._plant = shape_plant(
            PlantShape(noise=0.0), counted_arrivals(np.arange(61.0), rates), Setting(4, None, 48_000), end_s=60.0
        )
        self._start_s = start_s

    @property
    def configuration(self) -> Configuration:
        return self._plant.configuration

    def apply(self, configuration: Configuration) -> None:
        self._plant.apply(configuration)

    def observe(self) -> ControlStep | None:
        seen = self._plant.observe()
        return None if seen is None else replace(seen, executor_start_s=self._start_s)


def replicas_by_step(start_s: float | None) -> list[int]:
    """What is in force at each step of a rate that rises."""
    loop = Loop(LiveMpc(default_mpc(throughput(), GRID)), throughput())
    return [record.seen.setting.replicas for record in loop.run(Slow(start_s))]


def test_replicas_are_asked_for_earlier_where_executors_have_to_start() -> None:
    early, late = replicas_by_step(8.0), replicas_by_step(None)
    assert late[-1] > late[5]
    assert sum(early[5:50]) > sum(late[5:50])


def test_no_cap_is_tried_that_would_hold_up_decisions() -> None:
    seen = ControlStep(1, 1.0, 1.0, Setting(1, None, 12_000), 0.0, 0.0, 0.0, 0.0, highest_cap_tuples=12_000)
    assert near(GRID, seen).caps_tuples == (3_000, 12_000)
    assert near(GRID, ControlStep(1, 1.0, 1.0, Setting(1, None, 3_000), 0.0, 0.0, 0.0, 0.0)).caps_tuples == (
        3_000,
        12_000,
    )


def controlled(shape: PlantShape, rates: list[float], goal: Goal, start: int = 4) -> list[ControlStep]:
    """The steps of a run under the default policy."""
    arrivals = counted_arrivals(np.arange(len(rates) + 1.0), np.array(rates).astype(np.int64))
    plant = shape_plant(shape, arrivals, Setting(start, None, 48_000), end_s=float(len(rates)))
    loop = Loop(default_mpc(goal, Grid(tuple(range(1, 13)), caps_tuples=(48_000,))), goal, application_rules(Guard()))
    return [record.seen for record in loop.run(plant)]


@pytest.mark.parametrize("factor", [1.5, 2.0, 2.5])
@pytest.mark.parametrize("rises", [True, False])
def test_tuples_that_take_longer_ask_for_more_replicas_and_not_for_fewer(factor: float, rises: bool) -> None:
    before = [1200.0] * 40 + [1200.0 + 60 * i for i in range(20)] if rises else [2400.0] * 60
    shape = PlantShape(service_factor=lambda t: factor if t > 62 else 1.0)
    seen = controlled(shape, before + [2400.0] * 60, latency(mean_ms=1000))
    slower = [step.setting.replicas for step in seen if step.ended_at_s > 72]
    assert min(slower) >= 2.4 * factor, "2,400 tuples/s of so many ms"
    assert sum(breaks(latency(mean_ms=1000), step) for step in seen) <= 8


def test_tuples_that_all_take_longer_are_no_tasks_that_straggle() -> None:
    seen = ControlStep(
        1, 1.0, 1.0, Setting(4, None, 48_000), 2000.0, 2000.0, 0.0, 0.6, overhead_s=0.1, service_s=0.001,
        latency_mean_s=0.4,
    )  # fmt: skip
    policy = default_mpc(latency(mean_ms=1000), GRID)
    state = policy.learn(policy.learn(policy.start(), seen), seen)
    dearer = policy.learn(state, replace(seen, service_s=0.002))
    straggled = policy.learn(state, replace(seen, imbalance=2.0))
    assert dearer.slow_steps.chance < state.slow_steps.chance < straggled.slow_steps.chance


def test_a_percentile_that_lies_far_from_the_mean_is_kept() -> None:
    goal = latency(p95_ms=1500)
    seen = controlled(PlantShape(interval_s=1.0), [2500.0] * 120, goal)
    assert sum(breaks(goal, step) for step in seen[20:]) <= 2


def test_only_the_ratio_of_prices_matters() -> None:
    rates = [6000.0] * 40 + [1500.0] * 60
    ends = {
        price: controlled_at(price, rates)[-1].setting.replicas
        for price in (Price(1.0, 0.0), Price(0.0, 0.3), Price(1e-6, 0.3), Price(1e6, 3.0))
    }
    assert set(ends.values()) <= {2, 3}


def test_a_core_that_is_left_alone_costs_one_whatever_the_prices() -> None:
    for price in (Price(), Price(0.0, 0.3), Price(0.05, 0.3)):
        assert default_mpc(throughput(), GRID, price=price).resource_cost(Setting(3)) == pytest.approx(3.0), price
    by_core, by_watt = paper_strategy("Th-Node"), paper_strategy("Th-Power")
    assert by_watt.resource_cost(Setting(2)) == pytest.approx(by_core.resource_cost(Setting(2)))
    assert by_watt.resource_cost(Setting(2, 1.2)) < by_watt.resource_cost(Setting(2))


def controlled_at(price: Price, rates: list[float]) -> list[ControlStep]:
    arrivals = counted_arrivals(np.arange(len(rates) + 1.0), np.array(rates).astype(np.int64))
    plant = shape_plant(PlantShape(), arrivals, Setting(8, None, 48_000), end_s=float(len(rates)))
    grid = Grid(tuple(range(1, 13)), caps_tuples=(48_000,))
    loop = Loop(default_mpc(throughput(), grid, price=price), throughput(), application_rules(Guard()))
    return [record.seen for record in loop.run(plant)]


def test_replicas_that_do_not_help_are_not_tried_but_those_that_are_there() -> None:
    seen = ControlStep(1, 1.0, 1.0, Setting(1, None, 12_000), 0.0, 0.0, 0.0, 0.0, highest_replicas=2)
    assert helping(GRID, seen).replicas == (1, 2)
    assert helping(GRID, replace(seen, setting=Setting(5, None, 12_000))).replicas == (1, 2, 3, 4, 5)
    assert helping(Grid((4, 5, 6)), seen).replicas == (4,), "the limits come first"


def driven(rate: int, highest: HighestReplicas | None, seconds: int = 60) -> list[Record]:
    arrivals = counted_arrivals(np.arange(seconds + 1.0), np.full(seconds, rate))
    plant = shape_plant(PlantShape(), arrivals, Setting(4, None, 12_000), end_s=float(seconds))
    loop = Loop(LiveMpc(default_mpc(throughput(), GRID)), throughput(), application_rules(Guard(), useful=highest))
    return list(loop.run(plant))


def within(decision: Decision, replicas: int) -> Decision:
    """Without alternatives that a bound leaves out."""
    return replace(
        decision, alternatives=tuple(own for own in decision.alternatives if own.setting.replicas <= replicas)
    )


@pytest.mark.parametrize("rate", [600, 1200])
def test_a_bound_that_does_not_bind_changes_no_decision(rate: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    solve = Mpc.solve
    monkeypatch.setattr(Mpc, "solve", lambda mpc, *given: tried.append(mpc.grid.replicas[-1]) or solve(mpc, *given))
    free, bounded = driven(rate, None), driven(rate, HighestReplicas(4, 16))
    assert {r.seen.highest_replicas for r in bounded} == {4}
    assert [r.seen.setting for r in bounded] == [r.seen.setting for r in free]
    assert [within(r.decided, 4) for r in bounded] == [within(r.decided, 4) for r in free]
    assert tried[-1] == 4, "once nothing waits, twelve replicas are not tried"


def test_where_the_replicas_that_help_are_too_few_all_of_them_stay() -> None:
    records = driven(5500, HighestReplicas(4, 16), 30)
    assert {r.seen.setting.replicas for r in records} == {4}
    assert "an element that computes can use 4 on 4 cores" in records[-1].decided.because


def test_replicas_that_a_hot_slot_makes_useless_are_given_back_though_the_goal_is_out_of_reach() -> None:
    shares = np.full(128, 0.72 / 128)
    shares[17] += 0.28
    seen = controlled(PlantShape(shares=lambda time_s: shares), [3500.0] * 60, throughput(), start=8)
    assert {step.setting.replicas for step in seen if step.ended_at_s > 20} == {4}
