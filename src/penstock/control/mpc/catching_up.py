"""A backlog that no setting works off within the horizon is worked off at full speed.

Far above its bound, latency costs nearly the same under every setting, so that the search would save resources and let
the backlog stay.
"""

from __future__ import annotations

import numpy as np

from penstock.control.mpc.chance import ChanceProblem
from penstock.model.micro_batch import capacity_tuples_s

_EQUAL = 0.98  # of the highest capacity counts as the highest


def fastest_if_behind(problem: ChanceProblem) -> int | None:
    """The setting with the highest capacity, where even with it the goal is broken at the end of the horizon.

    Of equal capacities the cheapest.  None where some setting meets the goal by then: the search knows better.
    """
    fastest = fastest_setting(problem)
    waiting, cost = problem.waiting_tuples, 0.0
    for rate in problem.rates_tuples_s:
        cost, waiting = problem.outcome(float(rate), fastest, waiting, 0.0)
    return fastest if cost >= problem.violation > 0 else None


def fastest_setting(problem: ChanceProblem) -> int:
    capacities = np.array(
        [
            min(capacity_tuples_s(per_tuple_s, problem.overhead_s, cap), problem.limit_tuples_s)
            for per_tuple_s, cap in zip(problem.per_tuple_s, problem.cap_tuples, strict=True)
        ]
    )
    equal = np.flatnonzero(capacities >= _EQUAL * capacities.max())
    return int(min(equal, key=lambda u: (problem.resource_cost[u], -capacities[u])))
