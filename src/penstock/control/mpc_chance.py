"""Dynamic programming over chances: rates may come higher than forecast, and a broken goal has a price.

The state is (setting, tuples that wait), the latter on a grid with straight lines between its points.  In each step the
rate is one of six, by how far forecasts were off so far; later decisions know what came, as they will.  Where a goal
breaks, straight lines are far off: the second step of the likely first ones is worked out for what waits then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from penstock.control.mpc_dynamic import cheapest_along, distance_between
from penstock.control.mpc_problem import Floats, Solution, Switching
from penstock.model.micro_batch_run import run_step

# A normal distribution in six pieces, finer where a goal breaks: the mean of each piece and its probability.
ERRORS = np.array([-0.798, 0.460, 1.221, 1.723, 2.214, 2.823])
CHANCES = np.array([0.5, 0.3413, 0.0919, 0.0441, 0.0166, 0.0061])
CERTAIN = (np.zeros(1), np.ones(1))
_FINE_S, _FINE_POINTS, _POINTS = 2.4, 17, 26
_LIKELY = 4  # first settings, by straight lines, whose second step is looked at where it really begins
HIGHEST_EXCESS = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class ChanceProblem:
    """A horizon of steps whose rates are known up to `deviations` (standard errors as a share of the rate).

    `waiting_tuples`: all that wait now.  A step that breaks its goal costs `violation`, and `excess` times by how much
    (more where it takes longer than `period_s`):
    a mean latency above `threshold_s`, or (None) tuples older than `due_s` beyond `missing` of a step's arrivals.
    A change of replicas costs `change`, whatever its size, and pauses: now for `first_pause_s` by setting, in later
    steps for `pause_s`.  `blur`: how far predictions of the model are off, as a share.
    """

    rates_tuples_s: Floats
    deviations: Floats
    per_tuple_s: Floats
    cap_tuples: Floats
    resource_cost: Floats
    replicas: Floats
    switching: Switching
    current: int
    waiting_tuples: float
    violation: float
    excess: float
    threshold_s: float | None
    due_s: float = 1.0
    missing: float = 0.05
    blur: float = 0.03
    correction: float = 1.0
    spread: float = 0.0
    overhead_s: float = 0.0
    limit_tuples_s: float = float("inf")
    interval_s: float = 0.0
    period_s: float = 1.0
    first_pause_s: Floats = field(default_factory=lambda: np.zeros(0))
    pause_s: float = 0.0
    change: float = 0.0
    errors: tuple[Floats, Floats] = (ERRORS, CHANCES)

    @property
    def horizon(self) -> int:
        return len(self.rates_tuples_s)

    @property
    def physics(self) -> Floats:
        """All single figures, as the kernels take them."""
        threshold_s = self.threshold_s if self.threshold_s is not None else 0.0
        return np.array(
            [self.violation, self.excess, threshold_s, self.due_s, self.missing, self.blur, self.correction,
             self.spread, self.overhead_s, self.limit_tuples_s, self.interval_s, self.period_s,
             self.pause_s, self.change]
        )  # fmt: skip

    def outcome(self, rate: float, setting: int, waiting_tuples: float, pause_s: float) -> tuple[float, float]:
        """What a step with this very rate costs beside its resources, and what waits after it."""
        cost, left = outcome_of(
            rate, waiting_tuples, float(self.per_tuple_s[setting]), float(self.cap_tuples[setting]), self.physics,
            pause_s,
        )  # fmt: skip
        return float(cost), float(left)


def solve_chance(problem: ChanceProblem) -> Solution:
    """The best first setting; the trajectory goes on as if every rate came as forecast."""
    s = problem.switching
    trajectory, cost, explored = _solve(
        waiting_points(problem), problem.rates_tuples_s, problem.deviations, *problem.errors, problem.per_tuple_s,
        problem.cap_tuples, problem.resource_cost, problem.replicas, problem.first_pause_s, *s.positions, *s.gammas,
        problem.current, problem.waiting_tuples, problem.physics,
    )  # fmt: skip
    return Solution(tuple(int(u) for u in trajectory), float(cost), int(explored))


def waiting_points(problem: ChanceProblem) -> Floats:
    """Seconds of the highest rate: even up to `_FINE_S`, where goals break, then wider and wider up to all there is."""
    high = max(float(problem.rates_tuples_s.max()), 1.0)
    most_s = problem.waiting_tuples / high + 1.5 * problem.horizon * problem.period_s + 2 * _FINE_S
    fine = np.linspace(0.0, _FINE_S, _FINE_POINTS)
    wide = np.geomspace(_FINE_S, most_s, _POINTS - _FINE_POINTS + 1)[1:]
    return np.asarray(np.concatenate([fine, wide]) * high)


def _outcome_of(
    rate: float, waiting: float, per_tuple_s: float, cap: float, physics: Floats, pause_s: float
) -> tuple[float, float]:
    violation, excess, threshold_s, due_s, missing = physics[0], physics[1], physics[2], physics[3], physics[4]
    blur, correction = physics[5], physics[6]
    lasts_s, _, left, latency_s = run_step(
        rate, waiting, per_tuple_s, physics[7], physics[8], cap, physics[9], physics[10], physics[11], pause_s
    )
    if threshold_s > 0.0:
        beyond = correction * latency_s / threshold_s - 1.0
    else:
        beyond = (left / max(rate, 1e-9) - due_s) / lasts_s - missing
    if beyond < -4.0 * blur:
        return 0.0, left
    broken = 0.5 * math.erfc(-beyond / (blur * math.sqrt(2.0)))
    over = max(beyond, 0.0)
    if over > HIGHEST_EXCESS:
        over = HIGHEST_EXCESS * (1.0 + math.log(over / HIGHEST_EXCESS))
    return (violation * broken + excess * over) * lasts_s / physics[11], left


outcome_of: Any = njit(nogil=True, cache=True, error_model="numpy")(_outcome_of)


def _value_between(values: Floats, points: Floats, waiting: float) -> float:
    """Straight between two points; beyond the last one as there.  A hot path: the even ones need no search."""
    last = len(points) - 1
    if waiting >= points[last]:
        return float(values[last])
    low = min(int(waiting / points[1]), _FINE_POINTS - 1)
    while low > 0 and points[low] > waiting:  # by rounding
        low -= 1
    while points[low + 1] <= waiting:
        low += 1
    part = (waiting - points[low]) / (points[low + 1] - points[low])
    return float(values[low] + part * (values[low + 1] - values[low]))


value_between: Any = njit(nogil=True, cache=True)(_value_between)


def _expected_cost(
    rate: float, deviation: float, errors: Floats, chances: Floats, waiting: float, per_tuple_s: float, cap: float,
    physics: Floats, pause_s: float, values: Floats, points: Floats,
) -> float:  # fmt: skip
    """Of a step and all that follow it, over what may come."""
    total = 0.0
    for i in range(len(errors)):
        came = max(rate * (1.0 + deviation * errors[i]), 0.0)
        cost, left = outcome_of(came, waiting, per_tuple_s, cap, physics, pause_s)
        total += chances[i] * (cost + value_between(values, points, left))
    return total


expected_cost: Any = njit(nogil=True, cache=True, error_model="numpy")(_expected_cost)


def _costs_from(
    at: int, waiting: float, rate: float, deviation: float, errors: Floats, chances: Floats, per_tuple: Floats,
    cap: Floats, resource: Floats, replicas: Floats, pauses_s: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float,
    gf: float, gc: float, physics: Floats, values: Floats, points: Floats,
) -> Floats:  # fmt: skip
    """Of a step with each setting, from one setting on, and of all that follow it."""
    costs = np.empty(len(per_tuple))
    for u in range(len(per_tuple)):
        differs = replicas[u] != replicas[at]
        costs[u] = resource[u] + distance_between(at, u, pn, pf, pc, gn, gf, gc) + (physics[13] if differs else 0.0)
        costs[u] += expected_cost(
            rate, deviation, errors, chances, waiting, per_tuple[u], cap[u], physics, pauses_s[u] if differs else 0.0,
            values[u], points,
        )  # fmt: skip
    return costs


costs_from: Any = njit(nogil=True, cache=True, error_model="numpy")(_costs_from)


def _solve_chance(
    points: Floats, rates: Floats, deviations: Floats, errors: Floats, chances: Floats, per_tuple: Floats, cap: Floats,
    resource: Floats, replicas: Floats, first_pause_s: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float,
    gc: float, current: int, waiting: float, physics: Floats,
) -> tuple[Any, float, int]:  # fmt: skip
    horizon, settings = len(rates), len(per_tuple)
    n, f, c = len(pn), len(pf), len(pc)
    pause_s, change = physics[12], physics[13]
    values = np.zeros((horizon + 1, settings, len(points)))
    still, moved = np.empty(settings), np.empty(settings)
    for step in range(horizon - 1, 0, -1):
        for b in range(len(points)):
            for u in range(settings):
                own = resource[u]
                still[u] = own + expected_cost(
                    rates[step], deviations[step], errors, chances, points[b], per_tuple[u], cap[u], physics, 0.0,
                    values[step + 1, u], points,
                )  # fmt: skip
                moved[u] = still[u] + change
                if pause_s > 0.0:
                    moved[u] = own + change + expected_cost(
                        rates[step], deviations[step], errors, chances, points[b], per_tuple[u], cap[u], physics,
                        pause_s, values[step + 1, u], points,
                    )  # fmt: skip
            same = cheapest_along(cheapest_along(still, pc, gc, n * f, 1), pf, gf, n, c)
            other = cheapest_along(cheapest_along(moved, pc, gc, n * f, 1), pf, gf, n, c)
            other = cheapest_along(other, pn, gn, 1, f * c)
            for u in range(settings):
                values[step, u, b] = min(same[u], other[u])
    trajectory = np.empty(horizon, np.int64)
    at, least, explored = current, 0.0, settings * len(errors) * ((horizon - 1) * len(points) + horizon)
    for step in range(horizon):
        pauses_s = first_pause_s if step == 0 else np.full(settings, pause_s)
        costs = costs_from(
            at, waiting, rates[step], deviations[step], errors, chances, per_tuple, cap, resource, replicas, pauses_s,
            pn, pf, pc, gn, gf, gc, physics, values[step + 1], points,
        )  # fmt: skip
        choice = int(np.argmin(costs))
        if step == 0:
            likely = np.argsort(costs)[:_LIKELY] if horizon > 1 else np.empty(0, np.int64)
            for u in likely:
                pause = first_pause_s[u] if replicas[u] != replicas[at] else 0.0
                for i in range(len(errors)):
                    came = max(rates[0] * (1.0 + deviations[0] * errors[i]), 0.0)
                    left = outcome_of(came, waiting, per_tuple[u], cap[u], physics, pause)[1]
                    next_costs = costs_from(
                        u, left, rates[1], deviations[1], errors, chances, per_tuple, cap, resource, replicas,
                        np.full(settings, pause_s), pn, pf, pc, gn, gf, gc, physics, values[2], points,
                    )  # fmt: skip
                    costs[u] += chances[i] * (next_costs.min() - value_between(values[1, u], points, left))
            if len(likely):
                choice = int(likely[np.argmin(costs[likely])])
                explored += len(likely) * len(errors) ** 2 * settings
            least = costs[choice]
        trajectory[step] = choice
        pause = pauses_s[choice] if replicas[choice] != replicas[at] else 0.0
        waiting = outcome_of(rates[step], waiting, per_tuple[choice], cap[choice], physics, pause)[1]
        at = choice
    return trajectory, least, explored


_solve: Any = njit(nogil=True, cache=True, error_model="numpy")(_solve_chance)
