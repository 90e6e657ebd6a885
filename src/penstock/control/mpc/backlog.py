"""Dynamic programming where tuples left behind are part of the state: (setting, backlog), backlog on a grid.

Between two grid points the value is a straight line, and the first step starts from the exact backlog: the distance to
exhaustive search comes from that line alone, and is measured by `python -m benchmarks mpc`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.control.mpc.dynamic import cheapest_before, distance_between
from penstock.control.mpc.problem import BacklogProblem, Floats, Solution, TableProblem, quality_cost
from penstock.model.latency import corrected_s
from penstock.model.micro_batch import capacity_kernel, predict_step

BINS = 32


def solve_backlog(problem: BacklogProblem, bins: int = BINS) -> Solution:
    """The best trajectory, up to what the grid of backlogs blurs; `cost` is its exact cost."""
    trajectory, explored = _solve(backlog_bins(problem, bins), *arguments(problem))
    settings = tuple(int(u) for u in trajectory)
    return Solution(settings, problem.cost(settings), int(explored))


def arguments(problem: BacklogProblem) -> tuple[Any, ...]:
    """The problem as the kernels take it."""
    s = problem.switching
    physics = np.array(
        [problem.overhead_s, problem.limit_tuples_s, problem.interval_s, problem.period_s, problem.pause_s,
         problem.alpha, problem.threshold_s, problem.correction, problem.spread,
         float(problem.waiting_only)]
    )  # fmt: skip
    return (
        problem.rates_tuples_s, problem.per_tuple_s, problem.cap_tuples, problem.resource_cost, problem.replicas,
        *s.positions, *s.gammas, problem.current, problem.backlog_tuples, problem.quality_code, physics,
    )  # fmt: skip


def backlog_bins(problem: BacklogProblem, bins: int) -> Floats:
    """From 0 to the most that can be left behind, finer near 0."""
    most = problem.backlog_tuples + float(problem.rates_tuples_s.sum()) * problem.period_s
    return np.asarray(max(most, 1.0) * np.linspace(0.0, 1.0, bins) ** 3)


def _step_of(
    u: int,
    rate: float,
    backlog: float,
    pause_s: float,
    per_tuple: Floats,
    cap: Floats,
    replicas: Floats,
    code: int,
    physics: Floats,
) -> tuple[float, float]:
    """Quality cost of a step, and the backlog after it."""
    overhead_s, limit, interval_s, period_s = physics[0], physics[1], physics[2], physics[3]
    _, left, latency_s = predict_step(
        rate, backlog, per_tuple[u], replicas[u], physics[8], overhead_s, cap[u], limit, interval_s, period_s, pause_s
    )
    capacity = min(capacity_kernel(per_tuple[u], overhead_s, cap[u]), limit)
    latency_s = corrected_s(latency_s, per_tuple[u] * replicas[u], physics[7], physics[9] > 0.0)
    cost = quality_cost(code, physics[5], physics[6], rate, period_s, left, latency_s, capacity)
    return cost, left


step_of: Any = njit(nogil=True, cache=True, error_model="numpy")(_step_of)


def as_tables(problem: BacklogProblem) -> TableProblem:
    """The paper's problem: each step alone, nothing left behind by the one before, and no pause."""
    rates, per_tuple, cap, resource, replicas, *_, code, physics = arguments(problem)
    return TableProblem(
        _stages(rates, per_tuple, cap, resource, replicas, code, physics), problem.switching, problem.current
    )


def _stage_costs(
    rates: Floats, per_tuple: Floats, cap: Floats, resource: Floats, replicas: Floats, code: int, physics: Floats
) -> Floats:
    costs = np.empty((len(rates), len(per_tuple)))
    for step in range(len(rates)):
        for u in range(len(per_tuple)):
            costs[step, u] = resource[u] + step_of(u, rates[step], 0.0, 0.0, per_tuple, cap, replicas, code, physics)[0]
    return costs


_stages: Any = njit(nogil=True, cache=True, error_model="numpy")(_stage_costs)


def _value_at(values: Floats, bins: Floats, backlog: float) -> float:
    """Linear between the bins, which are the cubes of an even grid."""
    last = len(bins) - 1
    if backlog >= bins[last]:
        return float(values[last])
    place = min(int(last * (backlog / bins[last]) ** (1.0 / 3.0)), last - 1)
    while place > 0 and bins[place] > backlog:
        place -= 1
    while bins[place + 1] < backlog:
        place += 1
    part = (backlog - bins[place]) / (bins[place + 1] - bins[place])
    return float(values[place] + part * (values[place + 1] - values[place]))


value_at: Any = njit(nogil=True, cache=True, error_model="numpy")(_value_at)


def _solve_backlog(
    bins: Floats, rates: Floats, per_tuple: Floats, cap: Floats, resource: Floats, replicas: Floats,
    pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float, gc: float,
    current: int, backlog: float, code: int, physics: Floats,
) -> tuple[Any, int]:  # fmt: skip
    horizon, settings = len(rates), len(per_tuple)
    pause_s = physics[4]
    values = np.zeros((horizon + 1, settings, len(bins)))
    still, moved = np.empty(settings), np.empty(settings)
    for step in range(horizon - 1, 0, -1):
        for b in range(len(bins)):
            for u in range(settings):
                cost, left = step_of(u, rates[step], bins[b], 0.0, per_tuple, cap, replicas, code, physics)
                still[u] = cost + resource[u] + value_at(values[step + 1, u], bins, left)
                moved[u] = still[u]
                if pause_s > 0.0:
                    cost, left = step_of(u, rates[step], bins[b], pause_s, per_tuple, cap, replicas, code, physics)
                    moved[u] = cost + resource[u] + value_at(values[step + 1, u], bins, left)
            values[step, :, b] = cheapest_before(still, moved, pn, pf, pc, gn, gf, gc)
    trajectory = np.empty(horizon, np.int64)
    at = current
    for step in range(horizon):
        best, choice, after = np.inf, 0, 0.0
        for u in range(settings):
            pause = pause_s if replicas[u] != replicas[at] else 0.0
            cost, left = step_of(u, rates[step], backlog, pause, per_tuple, cap, replicas, code, physics)
            cost += resource[u] + distance_between(at, u, pn, pf, pc, gn, gf, gc)
            cost += value_at(values[step + 1, u], bins, left)
            if cost < best:
                best, choice, after = cost, u, left
        trajectory[step] = choice
        at, backlog = choice, after
    return trajectory, settings * ((horizon - 1) * len(bins) + horizon)


_solve: Any = njit(nogil=True, cache=True, error_model="numpy")(_solve_backlog)
