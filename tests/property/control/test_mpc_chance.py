"""Dynamic programming over chances finds what trying everything finds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.mpc.mpc_exhaustive import first_costs, outcomes
from penstock.control.mpc.chance import CERTAIN, CHANCES, ERRORS, ChanceProblem, solve_chance, waiting_points
from penstock.control.mpc.chance_search import value_between
from penstock.control.mpc.problem import Floats, Switching
from tests.reference.mpc import expected_cost

seeds = st.integers(0, 2**32 - 1)
FEW = (np.array([-1.0, 0.5, 2.0]), np.array([0.4, 0.45, 0.15]))
BY_SETTING = ("per_tuple_s", "cap_tuples", "resource_cost", "replicas", "first_pause_s")


def problem(seed: int, horizon: int, replicas: int = 4) -> ChanceProblem:
    rng = np.random.default_rng(seed)
    n = np.arange(1.0, replicas + 1)
    return ChanceProblem(
        rates_tuples_s=rng.uniform(200, 900 * replicas, horizon),
        deviations=np.full(horizon, float(rng.choice([0.0, 0.1, 0.3]))),
        per_tuple_s=0.001 * float(rng.uniform(1, 1.1)) / n,
        cap_tuples=np.full(replicas, float(rng.choice([2500.0, 1e9]))),
        resource_cost=n,
        replicas=n,
        switching=Switching((float(rng.choice([0.0, 0.5, 3.0])), 0.0, 0.0), (n, np.ones(1), np.ones(1))),
        current=int(rng.integers(replicas)),
        waiting_tuples=float(rng.choice([0.0, rng.uniform(0, 4000)])),
        violation=float(rng.uniform(5, 100)),
        excess=float(rng.uniform(5, 100)),
        threshold_s=float(rng.uniform(0.4, 1.5)) if rng.random() < 0.5 else None,
        overhead_s=float(rng.uniform(0.05, 0.3)),
        interval_s=float(rng.choice([0.0, 0.2])),
        first_pause_s=rng.uniform(0.0, 0.3, replicas),
        pause_s=float(rng.choice([0.0, 0.2])),
        change=float(rng.choice([0.0, 2.0])),
        blur=float(rng.uniform(0.02, 0.2)),
        slow_chance=float(rng.choice([0.0, 0.05])),
        slow_factor=2.5,
        errors=FEW,
    )


@given(seed=seeds)
def test_one_step_is_exact(seed: int) -> None:
    one = replace(problem(seed, 1, 6), errors=(ERRORS, CHANCES))
    solution = solve_chance(one)
    costs = [expected_cost(one, u) for u in range(6)]
    assert solution.cost == pytest.approx(min(costs), rel=1e-9)
    assert costs[solution.trajectory[0]] == pytest.approx(min(costs), rel=1e-9)


def ratio_to_best(several: ChanceProblem) -> float:
    costs = [expected_cost(several, u) for u in range(len(several.per_tuple_s))]
    return float(costs[solve_chance(several).trajectory[0]] / min(costs))


@pytest.mark.parametrize(("horizon", "replicas"), [(2, 3), (2, 8), (3, 3)])
def test_more_steps_come_near(horizon: int, replicas: int) -> None:
    """Straight lines between points of the grid part it from the best, now and then."""
    ratios = np.array([ratio_to_best(problem(seed, horizon, replicas)) for seed in range(300)])
    assert ratios.mean() < 1.005
    assert (ratios > 1.03).mean() <= 0.02


@pytest.mark.parametrize("seed", [34, 273, 1240])
def test_goals_that_break_between_two_points_are_seen(seed: int) -> None:
    """By straight lines alone these cost up to twice the best."""
    assert ratio_to_best(problem(seed, 2, 3)) == pytest.approx(1.0, rel=1e-9)


@given(seed=seeds, share=st.floats(0.0, 1.3))
def test_values_between_points_lie_on_straight_lines(seed: int, share: float) -> None:
    points = waiting_points(problem(seed, 3))
    values = np.random.default_rng(seed).normal(size=len(points))
    for waiting in (share * points[-1], *points, *np.nextafter(points[1:], 0.0)):
        exact = float(np.interp(waiting, points, values))
        assert value_between(values, points, float(waiting)) == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_chances_are_a_normal_distribution() -> None:
    assert CHANCES.sum() == pytest.approx(1.0, abs=1e-9)
    assert float(CHANCES @ ERRORS) == pytest.approx(0.0, abs=2e-3)
    assert float(CHANCES @ ERRORS**2) == pytest.approx(0.78, abs=0.03)  # the lower half counts by its mean alone
    for edge, piece in ((1.0, 2), (1.5, 3), (2.0, 4), (2.5, 5)):
        assert CHANCES[piece:].sum() == pytest.approx(0.5 * math.erfc(edge / math.sqrt(2)), abs=2e-4)


def test_less_certain_forecasts_ask_for_more_replicas_and_dearer_violations_too() -> None:
    steady = replace(
        problem(1, 4, 12), rates_tuples_s=np.full(4, 5000.0), per_tuple_s=0.001 / np.arange(1.0, 13.0), pause_s=0.0,
        first_pause_s=np.zeros(12),
        switching=Switching((0.0, 0.0, 0.0), (np.arange(1.0, 13.0), np.ones(1), np.ones(1))), waiting_tuples=1500.0,
        overhead_s=0.15, interval_s=0.2, threshold_s=0.8, violation=100.0, excess=100.0, blur=0.02,
        cap_tuples=np.full(12, 1e9), errors=(ERRORS, CHANCES), slow_chance=0.0,
    )  # fmt: skip
    chosen = [
        solve_chance(replace(steady, deviations=np.full(4, share))).trajectory[0] + 1 for share in (0.0, 0.05, 0.1, 0.2)
    ]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1]
    wide = replace(steady, deviations=np.full(4, 0.1))
    priced = [solve_chance(replace(wide, violation=v, excess=v)).trajectory[0] for v in (1.0, 10.0, 1000.0)]
    assert priced == sorted(priced)
    assert priced[0] < priced[-1]


def test_steps_that_may_be_slow_ask_for_more_replicas() -> None:
    n = np.arange(1.0, 13.0)
    steady = replace(
        problem(1, 4, 12), rates_tuples_s=np.full(4, 5000.0), deviations=np.zeros(4), per_tuple_s=0.001 / n,
        pause_s=0.0, first_pause_s=np.zeros(12), waiting_tuples=1500.0, overhead_s=0.15, interval_s=0.2,
        switching=Switching((0.0, 0.0, 0.0), (n, np.ones(1), np.ones(1))), threshold_s=0.8, violation=200.0,
        excess=200.0, blur=0.02, cap_tuples=np.full(12, 1e9), errors=CERTAIN, slow_factor=2.0,
    )  # fmt: skip
    chosen = [solve_chance(replace(steady, slow_chance=chance)).trajectory[0] for chance in (0.0, 0.001, 0.05)]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1]


def on_a_grid(seed: int, horizon: int, shape: tuple[int, int, int], errors: tuple[Floats, Floats]) -> ChanceProblem:
    """Replicas, frequencies and caps; sometimes a slot so heavy that replicas beyond the first few bring nothing."""
    rng = np.random.default_rng(seed)
    one = problem(seed, horizon, shape[0])
    places = [np.arange(1.0, size + 1) for size in shape]
    n, f, c = (axis.ravel() for axis in np.meshgrid(*places, indexing="ij"))
    share = float(rng.choice([0.0, 0.3, 0.6]))
    gn, gf, gc = (float(gamma) for gamma in rng.choice([0.0, 0.1, 0.5, 3.0], 3))
    return replace(
        one,
        per_tuple_s=0.001 * np.where(n > 1, np.maximum(1.05 / n, share), 1.0) / (1 + 0.1 * f),
        cap_tuples=600.0 * 4.0**c,
        resource_cost=n * (1 + 0.2 * f),
        replicas=n,
        switching=Switching((gn, gf, gc), (places[0], places[1], places[2])),
        current=int(rng.integers(n.size)),
        first_pause_s=rng.uniform(0.0, 0.3, n.size),
        errors=errors,
    )


grids = st.tuples(st.integers(1, 8), st.integers(1, 3), st.integers(1, 3))


@given(seed=seeds, horizon=st.integers(1, 6), shape=grids, certain=st.booleans())
def test_settings_that_are_left_out_change_nothing(
    seed: int, horizon: int, shape: tuple[int, int, int], certain: bool
) -> None:
    one = on_a_grid(seed, horizon, shape, CERTAIN if certain else (ERRORS, CHANCES))
    bounded, full = solve_chance(one), solve_chance(one, bound=False)
    assert (bounded.trajectory, bounded.cost) == (full.trajectory, full.cost)
    assert bounded.explored <= full.explored


@given(seed=seeds, horizon=st.integers(1, 5), helping=st.integers(1, 5), from_any=st.integers(0, 4))
def test_replicas_that_bring_nothing_are_left_out_for_the_same_first_setting(
    seed: int, horizon: int, helping: int, from_any: int
) -> None:
    """The search over those that help alone, as it is run live, and over more of them, which only cost.

    Without pauses: one may shift a micro-batch into the next step, and be worth it.
    """
    more = replace(problem(seed, horizon, 6), pause_s=0.0, first_pause_s=np.zeros(6))
    same_s = more.per_tuple_s[np.minimum(np.arange(6), helping - 1)]
    more = replace(more, per_tuple_s=same_s, current=min(from_any, helping - 1))
    cut = replace(
        more,
        **{name: getattr(more, name)[:helping] for name in BY_SETTING},
        switching=Switching(more.switching.gammas, (np.arange(1.0, helping + 1), np.ones(1), np.ones(1))),
    )
    assert solve_chance(cut).trajectory == solve_chance(more).trajectory


@given(seed=seeds, horizon=st.integers(1, 3))
def test_the_compiled_tree_is_the_reference(seed: int, horizon: int) -> None:
    one = problem(seed, horizon, 3)
    branches = len(one.scenarios[0])
    wanted = [expected_cost(one, u) for u in range(3)]
    assert first_costs(one) == pytest.approx(wanted, rel=1e-9)
    assert outcomes(one) == sum((3 * branches) ** level for level in range(1, horizon + 1))
