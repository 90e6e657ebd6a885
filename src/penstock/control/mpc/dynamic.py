"""The exact optimum as a shortest path, one axis of the grid at a time.

The squared distance is a sum over axes, so the best predecessor over the whole grid is found by a pass along each axis
in turn: O(h * settings * (N + F + C)) instead of O(h * settings^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.control.mpc.problem import Floats, Solution, Switching, TableProblem


def solve_dynamic(problem: TableProblem) -> Solution:
    """The trajectory of least cost; tests hold it to exhaustive search."""
    s = problem.switching
    trajectory, cost, explored = _solve(np.ascontiguousarray(problem.stage_cost, np.float64), *axes(s), problem.current)
    return Solution(tuple(int(u) for u in trajectory), float(cost), int(explored))


def axes(s: Switching) -> tuple[Any, ...]:
    return (*s.positions, *s.gammas)


def _cheapest_along(values: Floats, positions: Floats, gamma: float, outer: int, inner: int) -> Floats:
    """For each place of one axis: the least of value(other place) + gamma * squared difference."""
    size = len(positions)
    result = np.empty_like(values)
    for o in range(outer):
        for i in range(inner):
            base = o * size * inner + i
            for a in range(size):
                best = np.inf
                for b in range(size):
                    difference = positions[a] - positions[b]
                    cost = values[base + b * inner] + gamma * difference * difference
                    best = min(best, cost)
                result[base + a * inner] = best
    return result


cheapest_along: Any = njit(nogil=True, cache=True)(_cheapest_along)


def _cheapest_before(
    still: Floats, moved: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float, gc: float
) -> Any:
    """For each setting the cheapest next one, by what that costs with the same replicas and with others."""
    n, f, c = len(pn), len(pf), len(pc)
    same = cheapest_along(cheapest_along(still, pc, gc, n * f, 1), pf, gf, n, c)
    other = cheapest_along(cheapest_along(moved, pc, gc, n * f, 1), pf, gf, n, c)
    return np.minimum(same, cheapest_along(other, pn, gn, 1, f * c))


cheapest_before: Any = njit(nogil=True, cache=True)(_cheapest_before)


def _distance_between(a: int, b: int, pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float, gc: float) -> float:
    caps, frequencies = len(pc), len(pf)
    n = pn[a // (frequencies * caps)] - pn[b // (frequencies * caps)]
    f = pf[a // caps % frequencies] - pf[b // caps % frequencies]
    c = pc[a % caps] - pc[b % caps]
    return float(gn * n * n + gf * f * f + gc * c * c)


distance_between: Any = njit(nogil=True, cache=True)(_distance_between)


def _solve_tables(
    stage: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float, gc: float, current: int
) -> tuple[Any, float, int]:
    horizon, settings = stage.shape
    n, f, c = len(pn), len(pf), len(pc)
    values = np.empty((horizon, settings))
    values[horizon - 1] = stage[horizon - 1]
    for step in range(horizon - 2, -1, -1):
        ahead = cheapest_along(values[step + 1], pc, gc, n * f, 1)
        ahead = cheapest_along(ahead, pf, gf, n, c)
        ahead = cheapest_along(ahead, pn, gn, 1, f * c)
        values[step] = stage[step] + ahead
    trajectory = np.empty(horizon, np.int64)
    at, total = current, 0.0
    for step in range(horizon):
        best, choice = np.inf, 0
        for u in range(settings):
            cost = values[step, u] + distance_between(at, u, pn, pf, pc, gn, gf, gc)
            if cost < best:
                best, choice = cost, u
        total += stage[step, choice] + distance_between(at, choice, pn, pf, pc, gn, gf, gc)
        trajectory[step] = choice
        at = choice
    explored = settings * ((horizon - 1) * (n + f + c) + horizon)
    return trajectory, total, explored


_solve: Any = njit(nogil=True, cache=True)(_solve_tables)
