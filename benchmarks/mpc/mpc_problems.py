"""Optimisations as MPC meets them: a random walk of rates, the paper's costs or ours, 108 settings or the full grid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.control.goals.goal import Weights, latency, throughput
from penstock.control.mpc.chance import ChanceProblem
from penstock.control.mpc.learning import Learned
from penstock.control.mpc.policy import Mpc
from penstock.control.mpc.presets import PAPER_GRID, default_mpc, paper_strategy
from penstock.control.mpc.problem import BacklogProblem, Floats
from penstock.control.setting import Grid
from penstock.model.forecasters.last_value import LastValue
from penstock.model.forecasters.tracked import Tracked

CAPS = tuple(2**power for power in range(9, 17))
FULL_GRID = Grid(PAPER_GRID.replicas, PAPER_GRID.frequencies_ghz, CAPS)
_GIGACYCLES = 0.002  # 1 ms at 2 GHz: 12 replicas serve 12,000 tuples/s


@dataclass(frozen=True, slots=True)
class Size:
    """A grid and the name of its row."""

    name: str
    grid: Grid


SIZES = (Size("12 x 9", PAPER_GRID), Size("12 x 9 x 8", FULL_GRID))
# What is decided live where the frequency is left alone: caps near the one in force, and as many replicas as help: two
# of an element that computes on two cores, sixteen of one that waits on a local master.
LIVE_SIZES = (
    Size("12", Grid(PAPER_GRID.replicas)),
    Size("2 x 3", Grid((1, 2), caps_tuples=CAPS[-3:])),
    Size("16 x 3", Grid(tuple(range(1, 17)), caps_tuples=CAPS[-3:])),
    SIZES[1],
)


def problems(grid: Grid, horizon: int, number: int, seed: int) -> list[BacklogProblem]:
    """So many optimisations over different rates, starting points, backlogs and strategies."""
    rng = np.random.default_rng(seed)
    return [_problem(rng, grid, horizon, policy) for policy in _policies(grid, horizon) for _ in range(number)]


def chance_problems(grid: Grid, horizon: int, number: int, seed: int) -> list[ChanceProblem]:
    """So many optimisations as the default meets them live, for both goals."""
    rng = np.random.default_rng(seed)
    goals = (throughput(), latency(p95_ms=800))
    return [
        _chances(rng, grid, horizon, default_mpc(goal, grid, horizon=horizon, pause_s=0.2))
        for goal in goals
        for _ in range(number)
    ]


def _chances(rng: np.random.Generator, grid: Grid, horizon: int, policy: Mpc) -> ChanceProblem:
    rates, state = _situation(rng, grid, horizon)
    state = replace(state, given_pause_s=0.2, waitings_tuples=(state.backlog_tuples + 0.3 * float(rates[0]),))
    return policy.chances(state, grid.setting(int(rng.integers(len(grid)))), rates)


def _policies(grid: Grid, horizon: int) -> list[Mpc]:
    """The four strategies of the paper, and the two goals of ours, over one grid."""
    strategies = [
        paper_strategy(name, horizon=horizon, service_scale=10.0)
        for name in ("Th-Node", "Th-Power", "Lat-Node", "Lat-Power")
    ]
    ours = [default_mpc(goal, grid, horizon=horizon, pause_s=0.2) for goal in (throughput(), latency(p95_ms=800))]
    return [replace(policy, grid=grid, weights=_with_watts(policy.weights)) for policy in (*strategies, *ours)]


def _with_watts(weights: Weights) -> Weights:
    """A little of the power price everywhere, since equal costs at all frequencies would make ties of everything."""
    return weights if weights.watts_weight > 0 else replace(weights, watts_weight=0.01)


def _problem(rng: np.random.Generator, grid: Grid, horizon: int, policy: Mpc) -> BacklogProblem:
    rates, state = _situation(rng, grid, horizon)
    current = grid.setting(int(rng.integers(len(grid))))
    return policy.problem(state, current, rates)


def _situation(rng: np.random.Generator, grid: Grid, horizon: int) -> tuple[Floats, Learned]:
    """Rates to be ready for, which go with the replicas there are, and what was learned by then."""
    scale = grid.replicas[-1] / PAPER_GRID.replicas[-1]
    start = rng.uniform(1500, 9000)
    rates = scale * np.maximum(start + np.cumsum(rng.normal(0, 600, horizon)), 100.0)
    state = Learned(
        Tracked(LastValue()),
        gigacycles=_GIGACYCLES,
        overhead_s=0.15,
        imbalance=1.05,
        spread=0.5,
        backlogs_tuples=(scale * float(rng.choice([0.0, rng.uniform(0, 5000)])),),
    )
    return rates, state
