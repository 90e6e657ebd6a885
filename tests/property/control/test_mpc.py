"""Dynamic programming and branch and bound find what trying everything finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.mpc.branch_and_bound import solve_branch, solve_branch_backlog
from penstock.control.goals.goal import QUALITIES
from penstock.control.mpc.backlog import solve_backlog
from penstock.control.mpc.dynamic import solve_dynamic
from penstock.control.mpc.problem import BacklogProblem, Switching, TableProblem
from tests.reference.mpc import exhaustive

shapes = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 2))
gammas = st.tuples(*[st.sampled_from([0.0, 0.1, 0.4, 3.0])] * 3)
seeds = st.integers(0, 2**32 - 1)


def switching(shape: tuple[int, int, int], weights: tuple[float, float, float]) -> Switching:
    n, f, c = (np.arange(1.0, size + 1) for size in shape)
    return Switching(weights, (n, f, c))


def tables(seed: int, shape: tuple[int, int, int], weights: tuple[float, float, float], horizon: int) -> TableProblem:
    rng = np.random.default_rng(seed)
    settings = int(np.prod(shape))
    stage = rng.choice([rng.uniform(0, 5, (horizon, settings)), rng.integers(0, 3, (horizon, settings))])
    return TableProblem(stage, switching(shape, weights), int(rng.integers(settings)))


def with_backlog(
    seed: int, shape: tuple[int, int, int], weights: tuple[float, float, float], horizon: int
) -> BacklogProblem:
    rng = np.random.default_rng(seed)
    n, f, c = np.meshgrid(
        np.arange(1.0, shape[0] + 1), np.linspace(1.2, 2.0, shape[1]), [500.0, 1e9][: shape[2]], indexing="ij"
    )
    kind = QUALITIES[int(rng.integers(len(QUALITIES)))]
    return BacklogProblem(
        rates_tuples_s=rng.uniform(0, 4000, horizon),
        per_tuple_s=(0.002 / f / n).ravel(),
        cap_tuples=c.ravel(),
        resource_cost=n.ravel(),
        replicas=n.ravel(),
        switching=switching(shape, weights),
        current=int(rng.integers(n.size)),
        backlog_tuples=float(rng.choice([0.0, rng.uniform(0, 5000)])),
        quality=kind,
        alpha=float(rng.uniform(0.5, 20)),
        threshold_s=float(rng.uniform(0.2, 2)),
        spread=float(rng.uniform(0, 2)),
        overhead_s=float(rng.uniform(0, 0.3)),
        pause_s=float(rng.choice([0.0, 0.2])),
        limit_tuples_s=float(rng.choice([np.inf, 2500.0])),
    )


@given(seed=seeds, shape=shapes, weights=gammas, horizon=st.integers(1, 3))
def test_dynamic_programming_equals_exhaustive_search(
    seed: int, shape: tuple[int, int, int], weights: tuple[float, float, float], horizon: int
) -> None:
    problem = tables(seed, shape, weights, horizon)
    _, best = exhaustive(problem, int(np.prod(shape)))
    solution = solve_dynamic(problem)
    assert solution.cost == pytest.approx(best, rel=1e-12, abs=1e-12)
    assert problem.cost(solution.trajectory) == pytest.approx(best, rel=1e-12, abs=1e-12)


@given(seed=seeds, weights=gammas)
def test_dynamic_programming_equals_exhaustive_search_over_ten_steps_too(
    seed: int, weights: tuple[float, float, float]
) -> None:
    problem = tables(seed, (2, 2, 1), weights, 10)
    tried = solve_branch(problem, bound=False)
    assert tried.explored == sum(4**level for level in range(1, 11))
    assert solve_dynamic(problem).cost == pytest.approx(tried.cost, rel=1e-12, abs=1e-12)


@given(seed=seeds, shape=shapes, weights=gammas, horizon=st.integers(1, 3))
def test_branch_and_bound_equals_exhaustive_search_and_looks_at_no_more(
    seed: int, shape: tuple[int, int, int], weights: tuple[float, float, float], horizon: int
) -> None:
    problem = tables(seed, shape, weights, horizon)
    _, best = exhaustive(problem, int(np.prod(shape)))
    bounded, all_of_it = solve_branch(problem), solve_branch(problem, bound=False)
    assert bounded.cost == all_of_it.cost == pytest.approx(best, rel=1e-12, abs=1e-12)
    assert bounded.trajectory == all_of_it.trajectory
    settings = int(np.prod(shape))
    assert all_of_it.explored == sum(settings**level for level in range(1, horizon + 1))
    assert bounded.explored <= all_of_it.explored


@given(seed=seeds, shape=shapes, weights=gammas, horizon=st.integers(1, 3))
def test_branch_and_bound_with_backlog_equals_exhaustive_search(
    seed: int, shape: tuple[int, int, int], weights: tuple[float, float, float], horizon: int
) -> None:
    problem = with_backlog(seed, shape, weights, horizon)
    _, best = exhaustive(problem, int(np.prod(shape)))
    solution = solve_branch_backlog(problem)
    assert solution.cost == pytest.approx(best, rel=1e-9)
    assert problem.cost(solution.trajectory) == pytest.approx(best, rel=1e-9)


@given(seed=seeds, shape=shapes, weights=gammas, horizon=st.integers(1, 3))
def test_dynamic_programming_with_backlog_is_exact_at_one_step_and_near_beyond(
    seed: int, shape: tuple[int, int, int], weights: tuple[float, float, float], horizon: int
) -> None:
    problem = with_backlog(seed, shape, weights, horizon)
    _, best = exhaustive(problem, int(np.prod(shape)))
    solution = solve_backlog(problem, bins=64)
    if horizon == 1:
        assert solution.cost == pytest.approx(best, rel=1e-9)
    assert best * (1 - 1e-9) <= solution.cost <= best * 1.05 + 1e-9


def test_more_bins_come_nearer_to_exhaustive_search() -> None:
    gaps = []
    for bins in (4, 16, 128):
        costs = []
        for seed in range(20):
            problem = with_backlog(seed, (4, 2, 2), (0.2, 0.1, 0.0), 3)
            costs.append(solve_backlog(problem, bins).cost / solve_branch_backlog(problem).cost)
        gaps.append(float(np.mean(costs)))
    assert gaps[0] >= gaps[1] >= gaps[2]
    assert gaps[2] <= 1.001
