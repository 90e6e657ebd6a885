"""The models of PROACTIVE against their closed forms, and where they break."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.errors import InputError
from penstock.model.executors import ExecutorStart
from penstock.model.latency import correction, kingman_waiting_s, response_s
from penstock.model.micro_batch import HIGHEST_LATENCY_S, capacity_tuples_s, predict_step, steady_duration_s
from penstock.model.power import PowerModel, VoltageTable, fitted_capacitance
from penstock.model.throughput import balanced_service_s, computation_s, throughput


def test_the_busiest_replica_sets_the_pace() -> None:
    result = throughput(0.01, [0.2, 0.3, 0.5], [0.02, 0.02, 0.01], route=[0, 0, 1], replicas=2)
    assert result.bottleneck == 0
    assert result.ideal_service_s == pytest.approx(0.5 * 0.02)
    assert [r.utilization for r in result.replicas] == pytest.approx([1.0, 0.5])
    assert result.replicas[1].computation_s == pytest.approx(0.01)
    assert result.effective_service_s == pytest.approx(0.01)
    assert result.capacity_tuples_s == pytest.approx(100)


def test_a_balanced_route_gives_the_short_formula() -> None:
    shares, costs = [0.25] * 4, [computation_s(0.04, 2.0)] * 4
    assert throughput(1.0, shares, costs, [0, 1, 2, 3], 4).ideal_service_s == pytest.approx(balanced_service_s(0.02, 4))


def test_a_replica_without_keys_is_idle() -> None:
    idle = throughput(0.01, [1.0], [0.005], route=[0], replicas=2).replicas[1]
    assert (idle.share, idle.utilization) == (0.0, 0.0)


def test_kingman_is_exact_for_poisson_arrivals_and_exponential_service() -> None:
    service_s, interarrival_s = 0.8, 1.0
    waiting = kingman_waiting_s(service_s, interarrival_s, 1.0, 1.0)
    assert waiting.value == pytest.approx(0.8 / 0.2 * 0.8)  # M/M/1
    assert waiting.saturated == ""
    assert response_s(waiting, service_s, correction=0.5).value == pytest.approx(1.6 + 0.8)


def test_kingman_saturates_at_full_utilization_and_says_so() -> None:
    at_one, beyond = kingman_waiting_s(1.0, 1.0, 1.0, 1.0), kingman_waiting_s(3.0, 1.0, 1.0, 1.0)
    assert at_one.saturated == beyond.saturated == "utilization at or above 1"
    assert math.isfinite(beyond.value)
    assert beyond.value > at_one.value > kingman_waiting_s(0.99, 1.0, 1.0, 1.0).value


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
    assert fitted_capacitance(table, 2, 2.0, 8.0) == pytest.approx(2.0)


@pytest.mark.parametrize("bad", [((1.0,), ()), ((), ()), ((2.0, 1.0), (1.0, 1.0))])
def test_a_wrong_voltage_table_is_refused(bad: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    with pytest.raises(InputError, match="voltage table"):
        VoltageTable(*bad)


def test_executor_start_is_learned() -> None:
    start = ExecutorStart()
    assert start.lead_steps(1.0) == 0
    for _ in range(30):
        start = start.learn(4.0)
    assert start.mean_s == pytest.approx(4.0)
    assert start.lead_steps(2.0) == 3  # 4 s, and a little for safety
    assert start.learn(10.0).cautious_s > start.cautious_s


def test_a_steady_micro_batch_holds_what_came_during_the_one_before() -> None:
    rate, per_tuple_s, overhead_s = 700.0, 0.001, 0.15
    duration_s = steady_duration_s(rate, per_tuple_s, overhead_s, 1e9)
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


def test_without_micro_batches_latency_is_kingmans() -> None:
    waiting = kingman_waiting_s(0.8, 1.0, 1.0, 1.0)
    latency_s = predict_step(1.0, 0.0, 0.8, 1.0, 1.0, 0.0, 1e9, math.inf, 0.0, 1.0, 0.0)[2]
    assert latency_s == pytest.approx(response_s(waiting, 0.8).value)
