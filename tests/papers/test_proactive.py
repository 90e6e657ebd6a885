"""PROACTIVE: models (Equations 1 to 9), costs (10 to 15), search and rebalancer, and its Results on the twin."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from benchmarks.mpc.branch_and_bound import solve_branch
from benchmarks.saso import paper
from penstock.control.control_step import ControlStep
from penstock.control.mpc.presets import ALPHAS, BETA, GAMMA, PAPER_FREQUENCIES_GHZ, PAPER_GRID, paper_strategy
from penstock.control.mpc.problem import Switching, TableProblem, quality_cost
from penstock.control.routes.rebalance import imbalance, rebalance
from penstock.control.setting import Setting
from penstock.model.latency import corrected_s, kingman_waiting_s, waiting_ratio
from penstock.model.micro_batch import predict_step
from penstock.model.power import PowerModel
from penstock.model.throughput import computation_s, ideal_service_s, work_by_replica


def step(latency_s: float) -> ControlStep:
    return ControlStep(
        step=1,
        ended_at_s=1.0,
        period_s=1.0,
        setting=Setting(2, 2.0),
        arrived_tuples=900.0,
        served_tuples=900.0,
        backlog_tuples=0.0,
        busy_ratio=0.5,
        service_s=0.001,
        overhead_s=0.1,
        latency_mean_s=latency_s,
    )


SHARES, CYCLES, ROUTE = [0.1, 0.2, 0.3, 0.4], [0.04, 0.02, 0.01, 0.02], [0, 1, 1, 0]


def test_equation_1_computation_time_is_cycles_over_frequency() -> None:
    assert computation_s(0.03, 1.5) == pytest.approx(0.02)


def test_equations_2_and_3_the_ideal_service_time_is_that_of_the_busiest_replica() -> None:
    work_s = [share * computation_s(cycles, 2.0) for share, cycles in zip(SHARES, CYCLES, strict=True)]
    by_replica = []
    for replica in (0, 1):
        slots = [k for k in range(4) if ROUTE[k] == replica]
        probability = sum(SHARES[k] for k in slots)
        mean_s = sum(SHARES[k] * computation_s(CYCLES[k], 2.0) for k in slots) / probability  # Equation 2
        by_replica.append(mean_s * probability)  # Equation 3
    assert work_by_replica(work_s, ROUTE, 2).tolist() == pytest.approx(by_replica)
    assert ideal_service_s(sum(work_s), 2, imbalance(ROUTE, work_s, 2)) == pytest.approx(max(by_replica))


def test_equation_4_the_effective_service_time_is_no_shorter_than_the_interarrival_time() -> None:
    costs = [quality_cost(0, 1.0, 1.0, rate, 1.0, 0.0, 0.0, 1000.0) for rate in (500.0, 1000.0, 2000.0)]
    assert costs == pytest.approx([2.0, 1.0, 1.0])  # alpha times milliseconds: max(T_A, T_S)


def test_equation_5_an_even_load_divides_the_computation_time_by_the_replicas() -> None:
    assert ideal_service_s(0.02, 4) == pytest.approx(0.005)


def test_equation_6_latency_is_waiting_and_computation() -> None:
    latency_s = predict_step(1.0, 0.0, 0.8, 1.0, 1.0, 0.0, 1e9, math.inf, 0.0, 1.0, 0.0)[2]
    assert latency_s == pytest.approx(kingman_waiting_s(1.0, 0.8, 1.0) + 0.8)


@pytest.mark.parametrize("utilization", [0.2, 0.5, 0.9])
def test_equation_7_is_kingmans_formula(utilization: float) -> None:
    arrivals_cv, service_cv, service_s = 1.3, 0.7, 0.01
    spread = (arrivals_cv**2 + service_cv**2) / 2
    expected_s = utilization / (1 - utilization) * spread * service_s
    assert kingman_waiting_s(utilization / service_s, service_s, spread) == pytest.approx(expected_s)


def test_equation_8_corrects_waiting_by_measured_over_predicted_waiting() -> None:
    ratio = waiting_ratio(measured_s=0.5, predicted_s=0.3, computation_s=0.1)
    assert ratio == pytest.approx(2.0)
    assert corrected_s(0.3, 0.1, ratio, True) == pytest.approx(0.5)
    assert waiting_ratio(50.0, 0.3, 0.1) == pytest.approx(49.9 / 0.2), "not bounded"


def test_equation_8_the_strategies_use_the_last_step_alone() -> None:
    policy = paper_strategy("Lat-Node", "random_walk")
    state = policy.start()
    for latency_s in (0.4, 0.8):
        state = policy.learn(state, step(latency_s))
    alone_s = state.per_tuple_s(step(0.8).setting) * 2
    others = policy.learn(policy.start(), step(0.8))
    assert (state.correction - others.correction) / others.correction == pytest.approx(0.0, abs=0.2)
    assert state.correction * 0.4 == pytest.approx(0.8 * policy.learn(state, step(0.4)).correction, rel=4 * alone_s)


def test_equation_9_power_grows_with_cores_frequency_and_the_square_of_the_voltage() -> None:
    power = PowerModel()
    assert power.watts(6, 2.0) == pytest.approx(6 * power.watts(1, 2.0))
    volts = [power.voltages.volts_at(ghz) for ghz in (1.2, 2.0)]
    assert power.watts(1, 2.0) / power.watts(1, 1.2) == pytest.approx(2.0 / 1.2 * (volts[1] / volts[0]) ** 2)
    assert power.watts(12, 2.0) == pytest.approx(68.25), "5.3.2"


@pytest.mark.parametrize("latency_s", [0.5, 1.0, 2.0])
def test_equation_12_is_exponential_in_latency_over_its_threshold(latency_s: float) -> None:
    assert quality_cost(1, 2.0, 1.0, 1.0, 1.0, 0.0, latency_s, 1.0) == pytest.approx(2.0 * math.exp(latency_s))


def test_equations_13_and_14_price_cores_or_watts() -> None:
    by_core, by_watt = paper_strategy("Th-Node"), paper_strategy("Th-Power")
    (few, many) = (by_core.grid.setting(u) for u in (0, len(by_core.grid) - 1))
    assert by_core.resource_cost(many) / by_core.resource_cost(few) == pytest.approx(many.replicas / few.replicas)
    slow, fast = by_watt.grid.setting(0), by_watt.grid.setting(len(PAPER_FREQUENCIES_GHZ) - 1)
    assert slow.replicas == fast.replicas
    assert by_watt.resource_cost(fast) > by_watt.resource_cost(slow)


def test_equation_15_the_switching_cost_is_the_squared_distance() -> None:
    switching = Switching((0.4, 0.4, 0.4), PAPER_GRID.positions())
    here, near, far = (PAPER_GRID.index(PAPER_GRID.setting(u)) for u in (0, 9, 27))
    assert switching.between(here, far) == pytest.approx(9 * switching.between(here, near))
    assert switching.between(here, here) == 0.0


def test_3_3_2_branch_and_bound_finds_what_exhaustive_search_finds() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        stage_cost = random.uniform(0.1, 5.0, (3, 4))
        switching = Switching((0.4, 0.4, 0.4), (np.arange(4.0), np.zeros(1), np.zeros(1)))
        problem = TableProblem(stage_cost, switching, int(random.integers(4)))
        best = min(problem.cost(path) for path in itertools.product(range(4), repeat=3))
        bounded, full = (solve_branch(problem, bound=bound) for bound in (True, False))
        assert bounded.cost == pytest.approx(best)
        assert full.cost == pytest.approx(best)
        assert bounded.explored <= full.explored


def test_4_1_the_rebalancer_evens_the_load_out() -> None:
    random = np.random.default_rng(3)
    loads = random.uniform(0.1, 2.0, 64)
    route = tuple(int(own) for own in random.integers(0, 4, 64))
    after = rebalance(route, tuple(loads.tolist()), 4, 0.05)
    assert imbalance(after.route, loads, 4) <= min(1.05, imbalance(route, loads, 4))


def test_table_6_has_the_weights_of_the_strategies() -> None:
    assert (BETA, GAMMA) == (0.5, 0.4)
    assert [ALPHAS[name]["real"] for name in ("Th-Node", "Th-Power", "Lat-Node", "Lat-Power")] == [200, 300, 3, 4]
    assert (len(PAPER_GRID.replicas), len(PAPER_GRID.frequencies_ghz)) == (12, 9)


def test_result_1_the_switching_cost_makes_fewer_changes() -> None:
    free, priced = (paper._run("Th-Node", "random_walk", switching, 1, 1) for switching in (False, True))
    assert priced.reconfigurations < free.reconfigurations


def test_result_4_the_switching_cost_makes_smaller_changes_but_not_on_every_load() -> None:
    """Th-Node on the random walk: smaller in the mean of six seeds, and larger with seed 1 (record 0033)."""
    free, priced = (
        [paper._run("Th-Node", "random_walk", switching, 1, seed).amplitude for seed in range(1, 7)]
        for switching in (False, True)
    )
    assert sum(priced) < sum(free)
    assert [own <= other for own, other in zip(priced, free, strict=True)] == [False, True, True, True, True, True]
