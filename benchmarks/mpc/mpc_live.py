"""The default's own decision, over chances: how long it takes, and how far from trying everything it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from benchmarks.mpc.mpc_exhaustive import first_costs, outcomes
from benchmarks.mpc.mpc_problems import LIVE_SIZES, Size, chance_problems
from benchmarks.mpc.mpc_rows import MpcEffort, Row, time_ms
from penstock.control.mpc.chance import ChanceProblem, solve_chance

CHANCES, ALL_CHANCES = "dynamic programming, chances", "exhaustive, chances"
LIVE_HORIZONS = (1, 2, 3, 10)
_MOST_OUTCOMES = 30_000_000  # some seconds for a problem; more than that and a tree is not searched


def measure_live(
    effort: MpcEffort, sizes: Sequence[Size] = LIVE_SIZES, horizons: Sequence[int] = LIVE_HORIZONS
) -> list[Row]:
    """Dynamic programming at every size and horizon, exhaustive search where it ends within seconds."""
    rows = []
    for size in sizes:
        for horizon in horizons:
            rows += _rows(size, horizon, chance_problems(size.grid, horizon, effort.problems, effort.seed), effort)
    return rows


def _rows(size: Size, horizon: int, chosen: Sequence[ChanceProblem], effort: MpcEffort) -> list[Row]:
    states = len(size.grid) ** horizon
    explored = median(solve_chance(problem).explored for problem in chosen)  # compiles, too
    repeats = max(effort.repeats * len(LIVE_SIZES[0].grid) // len(size.grid), 1)
    times_ms = [time_ms(solve_chance, problem, repeats) for problem in chosen]
    if outcomes(chosen[0]) > _MOST_OUTCOMES:
        return [Row(size.name, horizon, CHANCES, states, explored, median(times_ms), max(times_ms), None)]
    first_costs(chance_problems(size.grid, 1, 1, effort.seed)[0])  # compiles
    trees = [_tree(problem) for problem in chosen]
    tree_ms, excess = [ms for ms, _ in trees], max(excess for _, excess in trees)
    return [
        Row(size.name, horizon, ALL_CHANCES, states, outcomes(chosen[0]), median(tree_ms), max(tree_ms), 0.0),
        Row(size.name, horizon, CHANCES, states, explored, median(times_ms), max(times_ms), excess),
    ]


def _tree(problem: ChanceProblem) -> tuple[float, float]:
    """How long it takes to try everything (ms), and what our first setting costs beyond the best one, as a share."""
    begin_s = time.perf_counter()
    costs = first_costs(problem)
    took_ms = 1000 * (time.perf_counter() - begin_s)
    return took_ms, float(costs[solve_chance(problem).trajectory[0]] / costs.min() - 1)
