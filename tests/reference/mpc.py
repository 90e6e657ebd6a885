"""The optimum of MPC by trying every trajectory."""

from __future__ import annotations

import itertools

from penstock.control.mpc.chance import ChanceProblem
from penstock.control.mpc.problem import BacklogProblem, TableProblem


def exhaustive(problem: TableProblem | BacklogProblem, settings: int) -> tuple[tuple[int, ...], float]:
    """The best trajectory and its cost."""
    trajectories = itertools.product(range(settings), repeat=problem.horizon)
    best = min(trajectories, key=problem.cost)
    return best, problem.cost(best)


def expected_cost(problem: ChanceProblem, first: int) -> float:
    """Of a first setting, over every rate that may come, each later step decided once the ones before are known."""
    return _cost_of(problem, 0, problem.current, first, problem.waiting_tuples)


def _cost_of(problem: ChanceProblem, step: int, before: int, setting: int, waiting: float) -> float:
    moved = problem.replicas[before] != problem.replicas[setting]
    total = float(problem.resource_cost[setting]) + problem.switching.between(before, setting)
    total += problem.change if moved else 0.0
    pause_s = 0.0 if not moved else problem.pause_s if step > 0 else float(problem.first_pause_s[setting])
    for (error, slower), chance in zip(*problem.scenarios, strict=True):
        rate = max(float(problem.rates_tuples_s[step] * (1 + problem.deviations[step] * error)), 0.0)
        own, left = problem.outcome(rate, setting, waiting, pause_s, float(slower))
        total += chance * (own + _least_cost(problem, step + 1, setting, left))
    return total


def _least_cost(problem: ChanceProblem, step: int, before: int, waiting: float) -> float:
    if step == problem.horizon:
        return 0.0
    return min(_cost_of(problem, step, before, u, waiting) for u in range(len(problem.replicas)))
