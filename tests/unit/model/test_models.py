"""The models of PROACTIVE against their closed forms, and where they break."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from penstock.control.control_step import ControlStep
from penstock.control.goals.goal import throughput
from penstock.control.loop.named_policies import named_policy
from penstock.control.mpc.learning import Learned
from penstock.control.routes.rebalance import imbalance
from penstock.control.setting import Grid, Setting
from penstock.errors import InputError
from penstock.model.executor_start import ExecutorStart
from penstock.model.forecasters.last_value import LastValue
from penstock.model.forecasters.tracked import Tracked
from penstock.model.latency import correction, kingman_waiting_s
from penstock.model.micro_batch import HIGHEST_LATENCY_S, capacity_tuples_s, duration_kernel, predict_step
from penstock.model.micro_batch_run import run_step
from penstock.model.power import PowerModel, VoltageTable
from penstock.model.throughput import computation_s, ideal_service_s, work_by_replica

SHARES, TIMES_S, ROUTE = [0.2, 0.3, 0.5], [0.02, 0.02, 0.01], [0, 0, 1]


def test_the_busiest_replica_sets_the_pace() -> None:
    work_s = [share * time_s for share, time_s in zip(SHARES, TIMES_S, strict=True)]  # p_k * T_k
    assert work_by_replica(work_s, ROUTE, 3) == pytest.approx([0.5 * 0.02, 0.5 * 0.01, 0.0])
    mean_s = sum(work_s)  # of a tuple, whatever its slot
    by_imbalance_s = ideal_service_s(mean_s, 2, imbalance(ROUTE, work_s, 2))
    assert by_imbalance_s == pytest.approx(max(work_by_replica(work_s, ROUTE, 2)))


def test_what_decides_goes_by_the_same_equations() -> None:
    learned = Learned(Tracked(LastValue()), gigacycles=0.04, imbalance=1.1)
    assert learned.per_tuple_s(Setting(4, 2.0)) == pytest.approx(computation_s(0.04, 2.0) * 1.1 / 4)
    hot = replace(learned, heaviest_share=0.5)
    assert hot.per_tuple_s(Setting(4, 2.0)) == pytest.approx(0.5 * 0.02), "more than two replicas do not help"
    assert hot.per_tuple_s(Setting(1, 2.0)) == pytest.approx(0.02)


def test_no_imbalance_makes_several_replicas_slower_than_one() -> None:
    assert ideal_service_s(0.02, 2, imbalance=3.0) == 0.02


def test_kingman_is_exact_for_poisson_arrivals_and_exponential_service() -> None:
    assert kingman_waiting_s(1.0, 0.8, 1.0) == pytest.approx(0.8 / 0.2 * 0.8)  # M/M/1


def test_kingman_saturates_at_full_utilization() -> None:
    below, at_one, beyond = (kingman_waiting_s(1.0, service_s, 1.0) for service_s in (0.99, 1.0, 3.0))
    assert below < at_one < beyond
    assert math.isfinite(beyond)


@pytest.mark.parametrize("model", ["in the steady state", "micro-batch by micro-batch"])
def test_what_variation_adds_to_the_latency_is_kingmans_waiting(model: str) -> None:
    def latency_s(spread: float) -> float:
        if model == "in the steady state":
            return float(predict_step(700.0, 0.0, 0.001, 4.0, spread, 0.1, 1e9, math.inf, 0.0, 1.0, 0.0)[2])
        return float(run_step(700.0, 0.0, 0.001, spread, 0.1, 1e9, math.inf, 0.0, 1.0, 0.0)[3])

    assert latency_s(2.0) - latency_s(0.0) == pytest.approx(kingman_waiting_s(700.0, 0.001, 2.0))


def test_without_micro_batches_latency_is_waiting_and_computation() -> None:
    latency_s = predict_step(1.0, 0.0, 0.8, 1.0, 1.0, 0.0, 1e9, math.inf, 0.0, 1.0, 0.0)[2]
    assert latency_s == pytest.approx(kingman_waiting_s(1.0, 0.8, 1.0) + 0.8)  # Eq. 6


@pytest.mark.parametrize(
    ("measured", "predicted", "ratio", "saturated"),
    [
        (2.0, 1.0, 2.0, ""),
        (1.0, 0.0, 1.0, "correction with a vanishing prediction"),
        (100.0, 1.0, 10.0, "correction out of bounds"),
        (0.0, 1.0, 0.1, "correction out of bounds"),
    ],
)
def test_correction(measured: float, predicted: float, ratio: float, saturated: str) -> None:
    assert (correction(measured, predicted).value, correction(measured, predicted).saturated) == (ratio, saturated)


def test_power_grows_with_cores_and_faster_than_frequency() -> None:
    model = PowerModel()
    assert model.watts(12, 2.0) == pytest.approx(68.25)
    assert model.watts(6, 2.0) == pytest.approx(68.25 / 2)
    assert model.watts(4, 1.2) / model.watts(4, 2.0) < 1.2 / 2.0


def test_voltage_between_two_entries_is_a_line() -> None:
    table = VoltageTable((1.0, 2.0), (0.8, 1.0))
    assert [table.volts_at(f) for f in (0.5, 1.0, 1.5, 2.0, 3.0)] == pytest.approx([0.8, 0.8, 0.9, 1.0, 1.0])


@pytest.mark.parametrize("bad", [((1.0,), ()), ((), ()), ((2.0, 1.0), (1.0, 1.0))])
def test_a_wrong_voltage_table_is_refused(bad: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    with pytest.raises(InputError, match="voltage table"):
        VoltageTable(*bad)


def test_executor_start_is_learned() -> None:
    start = ExecutorStart()
    assert start.cautious_s == 0
    for _ in range(30):
        start = start.learn(4.0)
    assert start.mean_s == pytest.approx(4.0)
    assert start.cautious_s == pytest.approx(4.0, abs=0.1)
    assert start.learn(10.0).cautious_s > start.cautious_s


def test_a_steady_micro_batch_holds_what_came_during_the_one_before() -> None:
    rate, per_tuple_s, overhead_s = 700.0, 0.001, 0.15
    duration_s = duration_kernel(rate, per_tuple_s, overhead_s, 1e9, 0.0)
    assert duration_s == pytest.approx(overhead_s + rate * duration_s * per_tuple_s)
    simulated_s = 0.01
    for _ in range(500):
        simulated_s = overhead_s + rate * simulated_s * per_tuple_s
    assert duration_s == pytest.approx(simulated_s)


def test_a_small_cap_costs_capacity() -> None:
    capacities = [capacity_tuples_s(0.001, 0.2, cap) for cap in (100, 1000, 100_000)]
    assert capacities == sorted(capacities)
    assert capacities[0] == pytest.approx(100 / 0.3)
    assert capacities[2] == pytest.approx(1000, rel=0.01)


def test_predicted_step_keeps_every_tuple() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        rate, backlog, per_tuple = rng.uniform(0, 5000), rng.uniform(0, 9000), rng.uniform(1e-5, 1e-2)
        served, left, latency_s = predict_step(rate, backlog, per_tuple, 1.0, 0.5, 0.1, 5000.0, math.inf, 0.0, 1.0, 0.0)
        assert served + left == pytest.approx(backlog + rate)
        assert served <= capacity_tuples_s(per_tuple, 0.1, 5000.0) * (1 + 1e-12)
        assert 0 < latency_s <= HIGHEST_LATENCY_S


def test_predicted_latency_grows_with_load_backlog_and_pause() -> None:
    def latency(rate: float = 500.0, backlog: float = 0.0, pause: float = 0.0) -> float:
        return float(predict_step(rate, backlog, 0.001, 0.0, 0.0, 0.1, 1e9, math.inf, 0.0, 1.0, pause)[2])

    assert latency() == pytest.approx(1.5 * 0.2)
    assert latency(rate=800) > latency()
    assert latency(backlog=1000) > latency()
    assert latency(pause=0.5) > latency()


def test_a_service_behind_limits_what_is_served() -> None:
    assert predict_step(1000.0, 0.0, 1e-4, 1.0, 0.0, 0.0, 1e9, 300.0, 0.0, 1.0, 0.0)[0] == pytest.approx(300)


@pytest.mark.parametrize("policy", ["mpc", "th-node"])
def test_a_decision_says_where_a_bound_stood_in_for_kingman(policy: str) -> None:
    made = named_policy(policy, throughput(), Grid((1, 2)))
    state = made.start()
    for number in range(1, 4):
        seen = ControlStep(number, float(number), 1.0, Setting(2), 5000.0, 2000.0, 0.0, 1.0, service_s=0.001)
        state, decision = made.decide(state, seen)
    assert "utilization at or above 1" in decision.expected.saturated
