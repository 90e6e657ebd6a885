"""A plant of one element against closed forms: nothing is lost, and what it says is what the formulas say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from penstock.connectors.trace.arrivals import Arrivals, counted_arrivals
from penstock.control.control_step import ControlStep
from penstock.control.setting import Setting
from penstock.model.micro_batch import duration_kernel
from penstock.simulate.micro_batch.plant import BatchPlant
from penstock.simulate.plant_shape import PlantShape, even_keys, zipf_keys
from penstock.simulate.shape_plant import ELEMENT, shape_plant

EVEN = PlantShape(noise=0.0, service_cv=0.0, shares=even_keys(120), interval_s=0.0, overhead_s=0.1)


def steady(rate: float, seconds: int = 60) -> Arrivals:
    return counted_arrivals(np.arange(seconds + 1.0), np.full(seconds, round(rate), np.int64))


def plant(
    shape: PlantShape = EVEN, rate: float = 3000, replicas: int = 4, seed: int = 1, cap: int = 10**9
) -> BatchPlant:
    return shape_plant(shape, steady(rate), Setting(replicas, None, cap), end_s=60, seed=seed)


def steps(of: BatchPlant) -> list[ControlStep]:
    found = []
    while (step := of.observe()) is not None:
        found.append(step)
    return found


def test_every_tuple_is_served_once_or_waits() -> None:
    for replicas in (1, 2, 6):
        seen = steps(plant(PlantShape(), replicas=replicas))
        served = np.cumsum([s.served_tuples for s in seen])
        arrived = np.cumsum([s.arrived_tuples for s in seen])
        assert list(arrived - served) == [s.backlog_tuples for s in seen]


def test_the_same_seed_gives_the_same_steps_and_another_does_not() -> None:
    assert steps(plant(PlantShape(), seed=3)) == steps(plant(PlantShape(), seed=3))
    assert steps(plant(PlantShape(), seed=3)) != steps(plant(PlantShape(), seed=4))


def test_a_steady_micro_batch_is_as_long_as_the_formula_says() -> None:
    last = steps(plant())[-8]  # arrivals end with the run
    assert last.micro_batch_s == pytest.approx(duration_kernel(3000.0, 0.001 / 4, 0.1, 1e9, 0.0), rel=0.01)
    assert last.latency_mean_s == pytest.approx(1.5 * last.micro_batch_s, rel=0.03)
    assert last.latency_p95_s == pytest.approx(1.95 * last.micro_batch_s, rel=0.03)
    assert last.offered_ratio == pytest.approx(0.75, rel=0.02)
    assert last.overhead_s == pytest.approx(0.1)


def test_without_enough_replicas_it_serves_its_capacity() -> None:
    seen = steps(plant(replicas=2, cap=4000))
    assert seen[-1].served_tuples_s == pytest.approx(4000 / (0.1 + 4000 * 0.0005), rel=0.02)
    assert seen[-1].backlog_tuples > seen[len(seen) // 2].backlog_tuples > 0


def test_the_busiest_replica_sets_the_pace() -> None:
    skewed = replace(EVEN, shares=zipf_keys(120, 1.0, 1))
    even, uneven = steps(plant())[-1], steps(plant(skewed))[-1]
    assert uneven.imbalance > 1.1
    assert uneven.micro_batch_s > even.micro_batch_s


def test_a_lower_frequency_takes_longer() -> None:
    slow = shape_plant(EVEN, steady(1500), Setting(4, 1.0, 10**9), end_s=30)
    assert steps(slow)[-1].service_s == pytest.approx(0.002)


def test_a_full_service_makes_replicas_wait() -> None:
    limited = replace(EVEN, limit_tuples_s=lambda _t: 2000.0)
    two, six = steps(plant(limited, replicas=3))[-1], steps(plant(limited, replicas=6))[-1]
    assert two.service_s == pytest.approx(3 / 2000, rel=0.02)
    assert six.service_s == pytest.approx(6 / 2000, rel=0.02)
    assert six.waiting_ratio > 0.5


def test_nothing_is_committed_during_an_outage_and_all_of_it_after() -> None:
    seen = steps(plant(replace(EVEN, outages_s=((20.0, 30.0),)), replicas=8))
    during = [s for s in seen if s.ended_at_s - s.period_s < 20.5 and s.ended_at_s >= 30]
    assert during
    assert during[0].backlog_tuples > 20_000
    assert seen[-1].backlog_tuples < 3000


def test_a_change_of_route_pauses_once_by_what_moves() -> None:
    shape = replace(EVEN, reconfigure_s=0.5, move_s=1.0)
    changed = plant(shape)
    changed.observe()
    configuration = changed.configuration
    changed.apply(configuration.with_replicas(ELEMENT, 6))
    paused, after = changed.observe(), changed.observe()
    assert paused is not None
    assert after is not None
    assert paused.reconfigured
    assert not after.reconfigured
    assert paused.micro_batch_s > 0.5 / paused.micro_batches


def test_new_replicas_come_when_they_have_started() -> None:
    changed = plant(replace(EVEN, start_s=5.0), rate=5000)
    changed.observe()
    changed.apply(changed.configuration.with_replicas(ELEMENT, 8))
    ready = []
    while (step := changed.observe()) is not None:
        ready.append((step.ended_at_s, step.replicas_ready or step.setting.replicas))
    assert ready[0][1] == 4
    assert ready[-1][1] == 8


def test_asking_for_more_does_not_put_off_those_on_their_way() -> None:
    changed = plant(replace(EVEN, start_s=3.0), rate=800, replicas=1)
    ready = []
    for replicas in (2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9):
        changed.apply(changed.configuration.with_replicas(ELEMENT, replicas))
        step = changed.observe()
        assert step is not None
        ready.append(step.replicas_ready or step.setting.replicas)
    assert ready[:2] == [1, 1]
    assert ready == sorted(ready)
    assert ready[-1] >= 5
    changed.apply(changed.configuration.with_replicas(ELEMENT, 4))
    step = changed.observe()
    assert step is not None
    assert (step.replicas_ready or 4) == 4, "those on their way are not waited for any more"


def test_windows_that_fire_do_their_work_in_bursts() -> None:
    seen = steps(plant(replace(EVEN, fires_every_s=5.0), replicas=8))
    busy = [s.busy_ratio for s in seen]
    assert min(busy) == 0.0
    assert max(busy) > 0.5
    assert np.average(busy, weights=[s.period_s for s in seen]) == pytest.approx(3000 * 0.001 / 8, rel=0.15)


def test_chance_by_moment_strikes_any_number_of_replicas_alike() -> None:
    """The tasks that both have are slowed by the same factors, and others are not."""
    shape = PlantShape(highest_replicas=12, straggler_ratio=0.05, noise=0.1, service_cv=0.0)

    def factors(replicas: int, seed: int, *, by_moment: bool) -> list[Any]:
        start = Setting(replicas, None, 100_000)
        plant = shape_plant(shape, steady(1000), start, end_s=20.0, seed=seed, by_moment=by_moment)
        found = []
        while plant.time_s < 20.0:
            (stage,) = plant.next_batch().stages
            found.append((int(stage.began_s), stage.cpu_s / np.maximum(stage.tuples_by_replica, 1.0)))
        return found

    def agreeing(one: list[Any], other: list[Any]) -> float:
        firsts = [{second: own[:8] for second, own in reversed(runs)} for runs in (one, other)]
        both = sorted(set(firsts[0]) & set(firsts[1]))
        return float(np.mean([np.allclose(firsts[0][second], firsts[1][second]) for second in both]))

    few, many = factors(8, 3, by_moment=True), factors(12, 3, by_moment=True)
    assert agreeing(few, many) > 0.9
    assert agreeing(few, factors(12, 4, by_moment=True)) == 0.0
    assert agreeing(factors(8, 3, by_moment=False), factors(12, 3, by_moment=False)) < 0.2
