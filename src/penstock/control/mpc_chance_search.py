"""The search of `mpc_chance`, step by step from the last one, as compiled functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from penstock.control.mpc_dynamic import cheapest_before, distance_between
from penstock.control.mpc_problem import Floats
from penstock.model.micro_batch_run import run_step

FINE_POINTS = 17  # of the grid of what waits: these are even
HIGHEST_EXCESS = 20.0
_LIKELY, _NEAR = 6, 1.25  # first settings at most, and so near the best, whose second step is worked out


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
    low = min(int(waiting / points[1]), FINE_POINTS - 1)
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


def _with_second_steps(
    costs: Floats, at: int, waiting: float, rates: Floats, deviations: Floats, errors: Floats, chances: Floats,
    per_tuple: Floats, cap: Floats, resource: Floats, replicas: Floats, first_pause_s: Floats, pn: Floats, pf: Floats,
    pc: Floats, gn: float, gf: float, gc: float, physics: Floats, values: Floats, points: Floats,
) -> int:  # fmt: skip
    """Puts right the costs of the likely first settings, and says how many outcomes that took."""
    explored, pauses_s = 0, np.full(len(per_tuple), physics[12])
    rough = costs.copy()  # infinite where the second step was worked out
    for _ in range(_LIKELY):
        u = int(np.argmin(rough))
        if rough[u] > _NEAR * costs.min():
            break
        pause_s = first_pause_s[u] if replicas[u] != replicas[at] else 0.0
        for i in range(len(errors)):
            came = max(rates[0] * (1.0 + deviations[0] * errors[i]), 0.0)
            left = outcome_of(came, waiting, per_tuple[u], cap[u], physics, pause_s)[1]
            next_costs = costs_from(
                u, left, rates[1], deviations[1], errors, chances, per_tuple, cap, resource, replicas, pauses_s,
                pn, pf, pc, gn, gf, gc, physics, values[2], points,
            )  # fmt: skip
            costs[u] += chances[i] * (next_costs.min() - value_between(values[1, u], points, left))
        rough[u] = np.inf
        explored += len(errors) ** 2 * len(per_tuple)
    return explored


with_second_steps: Any = njit(nogil=True, cache=True, error_model="numpy")(_with_second_steps)


def _solve_chance(
    points: Floats, rates: Floats, deviations: Floats, errors: Floats, chances: Floats, per_tuple: Floats, cap: Floats,
    resource: Floats, replicas: Floats, first_pause_s: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float,
    gc: float, current: int, waiting: float, physics: Floats,
) -> tuple[Any, float, int]:  # fmt: skip
    horizon, settings = len(rates), len(per_tuple)
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
            values[step, :, b] = cheapest_before(still, moved, pn, pf, pc, gn, gf, gc)
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
            if horizon > 1:
                explored += with_second_steps(
                    costs, current, waiting, rates, deviations, errors, chances, per_tuple, cap, resource, replicas,
                    first_pause_s, pn, pf, pc, gn, gf, gc, physics, values, points,
                )  # fmt: skip
                choice = int(np.argmin(costs))
            least = costs[choice]
        trajectory[step] = choice
        pause = pauses_s[choice] if replicas[choice] != replicas[at] else 0.0
        waiting = outcome_of(rates[step], waiting, per_tuple[choice], cap[choice], physics, pause)[1]
        at = choice
    return trajectory, least, explored


search: Any = njit(nogil=True, cache=True, error_model="numpy")(_solve_chance)
