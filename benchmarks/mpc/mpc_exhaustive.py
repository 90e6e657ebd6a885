"""Every rate that may come and every setting after it: the least expected cost of an optimisation over chances.

The slow reference, as a Python function, is in the tests; here it is compiled, so that live grids can be tried.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.control.mpc.chance import ChanceProblem
from penstock.control.mpc.chance_search import outcome_of
from penstock.control.mpc.dynamic import distance_between
from penstock.control.mpc.problem import Floats


def outcomes(problem: ChanceProblem) -> int:
    """How many the tree has: each setting with each rate, after each of those before."""
    branches = len(problem.per_tuple_s) * len(problem.scenarios[0])
    return sum(branches**level for level in range(1, problem.horizon + 1))


def first_costs(problem: ChanceProblem) -> Floats:
    """The expected cost of each first setting, with the best ones after it."""
    s = problem.switching
    return np.asarray(
        _first_costs(
            problem.rates_tuples_s, problem.deviations, *problem.scenarios, problem.per_tuple_s, problem.cap_tuples,
            problem.resource_cost, problem.replicas, problem.first_pause_s, *s.positions, *s.gammas, problem.current,
            problem.waiting_tuples, problem.physics,
        )
    )  # fmt: skip


def _costs_of_all(
    rates: Floats, deviations: Floats, errors: Floats, chances: Floats, per_tuple: Floats, cap: Floats,
    resource: Floats, replicas: Floats, first_pause_s: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float,
    gc: float, current: int, waiting: float, physics: Floats,
) -> Floats:  # fmt: skip
    horizon, settings = len(rates), len(per_tuple)
    firsts = np.empty(settings)
    # By level of the tree: the setting that is tried, the rate that is tried after it, and what waited before.
    setting, error, waited = np.zeros(horizon, np.int64), np.zeros(horizon, np.int64), np.zeros(horizon)
    total, least = np.zeros(horizon), np.full(horizon, np.inf)
    waited[0], level = waiting, 0
    while level >= 0:
        u = setting[level]
        if u == settings:
            level -= 1  # the least cost of this level is what follows an outcome of the level before
            if level >= 0:
                total[level] += chances[error[level]] * least[level + 1]
                error[level] += 1
            continue
        at = setting[level - 1] if level > 0 else current
        differs = replicas[u] != replicas[at]
        if error[level] == 0:
            total[level] = resource[u] + distance_between(at, u, pn, pf, pc, gn, gf, gc)
            total[level] += physics[13] if differs else 0.0
        if error[level] == len(errors):
            if level == 0:
                firsts[u] = total[0]
            least[level] = min(least[level], total[level])
            setting[level] += 1
            error[level] = 0
            continue
        pause_s = 0.0 if not differs else physics[12] if level > 0 else first_pause_s[u]
        came = max(rates[level] * (1.0 + deviations[level] * errors[error[level], 0]), 0.0)
        own, left = outcome_of(came, waited[level], per_tuple[u] * errors[error[level], 1], cap[u], physics, pause_s)
        total[level] += chances[error[level]] * own
        if level == horizon - 1:
            error[level] += 1
            continue
        level += 1
        setting[level], error[level], waited[level], least[level] = 0, 0, left, np.inf
    return firsts


_first_costs: Any = njit(nogil=True, cache=True, error_model="numpy")(_costs_of_all)
