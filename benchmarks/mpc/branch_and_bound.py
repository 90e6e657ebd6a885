"""The paper's branch and bound over the tree of trajectories, counted: PROACTIVE, section 3.3.2."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.control.mpc.backlog import arguments, step_of
from penstock.control.mpc.dynamic import axes, distance_between
from penstock.control.mpc.problem import BacklogProblem, Floats, Solution, TableProblem


def solve_branch(problem: TableProblem, *, bound: bool = True) -> Solution:
    """Depth first; a node is expanded only if it costs less than the best leaf so far (all nodes without `bound`)."""
    stage = np.ascontiguousarray(problem.stage_cost, np.float64)
    trajectory, cost, explored = _tables(stage, *axes(problem.switching), problem.current, bound)
    return Solution(tuple(int(u) for u in trajectory), float(cost), int(explored))


def solve_branch_backlog(problem: BacklogProblem, *, bound: bool = True) -> Solution:
    """The same with the exact backlog carried along each path."""
    trajectory, cost, explored = _backlogs(*arguments(problem), bound)
    return Solution(tuple(int(u) for u in trajectory), float(cost), int(explored))


def _search_tables(
    stage: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float, gc: float, current: int, bound: bool
) -> tuple[Any, float, int]:
    horizon, settings = stage.shape
    path, best_path = np.zeros(horizon, np.int64), np.zeros(horizon, np.int64)
    spent = np.zeros(horizon + 1)
    path[0] = -1
    level, best, explored = 0, np.inf, 0
    while level >= 0:
        path[level] += 1
        if path[level] == settings:
            level -= 1
            continue
        u = path[level]
        before = path[level - 1] if level > 0 else current
        explored += 1
        cost = spent[level] + stage[level, u] + distance_between(before, u, pn, pf, pc, gn, gf, gc)
        if bound and cost >= best:
            continue
        if level == horizon - 1:
            if cost < best:
                best = cost
                best_path[:] = path
            continue
        spent[level + 1] = cost
        level += 1
        path[level] = -1
    return best_path, best, explored


_tables: Any = njit(nogil=True, cache=True)(_search_tables)


def _search_backlogs(
    rates: Floats, per_tuple: Floats, cap: Floats, resource: Floats, replicas: Floats,
    pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float, gc: float,
    current: int, backlog: float, code: int, physics: Floats, bound: bool,
) -> tuple[Any, float, int]:  # fmt: skip
    horizon, settings = len(rates), len(per_tuple)
    path, best_path = np.zeros(horizon, np.int64), np.zeros(horizon, np.int64)
    spent, queued = np.zeros(horizon + 1), np.zeros(horizon + 1)
    path[0] = -1
    queued[0] = backlog
    level, best, explored = 0, np.inf, 0
    while level >= 0:
        path[level] += 1
        if path[level] == settings:
            level -= 1
            continue
        u = path[level]
        before = path[level - 1] if level > 0 else current
        explored += 1
        pause_s = physics[4] if replicas[u] != replicas[before] else 0.0
        own, left = step_of(u, rates[level], queued[level], pause_s, per_tuple, cap, replicas, code, physics)
        cost = spent[level] + own + resource[u] + distance_between(before, u, pn, pf, pc, gn, gf, gc)
        if bound and cost >= best:
            continue
        if level == horizon - 1:
            if cost < best:
                best = cost
                best_path[:] = path
            continue
        spent[level + 1] = cost
        queued[level + 1] = left
        level += 1
        path[level] = -1
    return best_path, best, explored


_backlogs: Any = njit(nogil=True, cache=True, error_model="numpy")(_search_backlogs)
