"""The search of `mpc_chance`, step by step from the last one, as compiled functions.

With `bound`, settings that another one beats from everywhere are left out, and sums that are too high already are not
finished: the solution is the same to the bit, for a part of the work.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from penstock.control.mpc.dynamic import cheapest_before, distance_between
from penstock.control.mpc.problem import Floats
from penstock.model.micro_batch_run import run_step

FINE_POINTS = 17  # of the grid of what waits: these are even
HIGHEST_EXCESS = 20.0
_LIKELY, _NEAR = 6, 1.25  # first settings at most, and so near the best, whose second step is worked out
_ROUNDING = 1e-9


def _with_rounding(cost: float) -> float:
    """A bound a little higher than it is, so that sums in another order leave out nothing."""
    return cost + _ROUNDING * (1.0 + abs(cost))


with_rounding: Any = njit(nogil=True, cache=True)(_with_rounding)


def _farther_at_most(low: float, high: float, better: float, worse: float, gamma: float) -> float:
    """By how much the way to `better` costs more than that to `worse`, from where it does most: one axis.

    gamma * ((p - better)^2 - (p - worse)^2) is a straight line in p, so that the most is at an end of the axis.
    """
    at_low = (low - better) ** 2 - (low - worse) ** 2
    at_high = (high - better) ** 2 - (high - worse) ** 2
    return gamma * max(at_low, at_high)


farther_at_most: Any = njit(nogil=True, cache=True)(_farther_at_most)


def _cost_limits(
    u: int, best: int, still: Floats, moved: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float, gc: float
) -> tuple[float, float]:
    """What setting u may cost at most to be the next one of any setting: with the same replicas there, with others.

    Beyond that `best`, whose costs are known, is cheaper.
    """
    caps, frequencies = len(pc), len(pf)
    n, best_n = pn[u // (frequencies * caps)], pn[best // (frequencies * caps)]
    f, best_f = pf[u // caps % frequencies], pf[best // caps % frequencies]
    way = farther_at_most(pf[0], pf[-1], best_f, f, gf) + farther_at_most(
        pc[0], pc[-1], pc[best % caps], pc[u % caps], gc
    )
    stays = min(still[best], moved[best]) if n == best_n else moved[best]
    stays += way + gn * (n - best_n) ** 2
    moves = moved[best] + way + farther_at_most(pn[0], pn[-1], best_n, n, gn)
    return with_rounding(stays), with_rounding(moves)


cost_limits: Any = njit(nogil=True, cache=True)(_cost_limits)


def _left_after(waiting: float, left: float, rate: float, lasts_s: float, period_s: float, pause_s: float) -> float:
    """What waits after a period, where whole micro-batches took a little longer, and at the end of them `left` waits.

    The steps of a plan are equally long, or a setting whose step is over sooner has less time to be late in.
    """
    paused_s = min(pause_s, period_s)
    waiting += rate * paused_s
    if lasts_s <= paused_s:
        return waiting
    return waiting + (left - waiting) * (period_s - paused_s) / (lasts_s - paused_s)


left_after: Any = njit(nogil=True, cache=True, error_model="numpy")(_left_after)


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
    left = left_after(waiting, left, rate, lasts_s, physics[11], pause_s)
    if beyond < -4.0 * blur:
        return 0.0, left
    broken = 0.5 * math.erfc(-beyond / (blur * math.sqrt(2.0)))
    over = max(beyond, 0.0)
    if over > HIGHEST_EXCESS:
        over = HIGHEST_EXCESS * (1.0 + math.log(over / HIGHEST_EXCESS))
    return violation * broken + excess * over, left


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
    physics: Floats, pause_s: float, values: Floats, points: Floats, least: float, cost_limit: float,
) -> float:  # fmt: skip
    """Of a step and all that follow it, over what may come; infinite once it is sure to be more than `cost_limit`.

    `errors`: of the rate, beside how many times as long tuples take.  `least`: what follows costs at least that,
    whatever comes.
    """
    total, rest = 0.0, 1.0
    for i in range(len(errors)):
        came = max(rate * (1.0 + deviation * errors[i, 0]), 0.0)
        cost, left = outcome_of(came, waiting, per_tuple_s * errors[i, 1], cap, physics, pause_s)
        total += chances[i] * (cost + value_between(values, points, left))
        rest -= chances[i]
        if total + rest * least > cost_limit:
            return np.inf
    return total


expected_cost: Any = njit(nogil=True, cache=True, error_model="numpy")(_expected_cost)


def _in_turn(place: int, first: int) -> int:
    """The setting that is looked at in this place: `first` comes first, the others by number."""
    return first if place == 0 else place - 1 if place <= first else place


in_turn: Any = njit(nogil=True, cache=True)(_in_turn)


def _fill_costs(
    still: Floats, moved: Floats, first: int, waiting: float, rate: float, deviation: float, errors: Floats,
    chances: Floats, per_tuple: Floats, cap: Floats, resource: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float,
    gf: float, gc: float, physics: Floats, values: Floats, least: Floats, points: Floats, bound: bool,
) -> tuple[int, int]:  # fmt: skip
    """Costs of a step with each setting and of all that follow it, for replicas that stay and that change.

    They are infinite where another setting is cheaper from everywhere; `first` is looked at first.  Says which one is
    cheapest, and how many outcomes that took.
    """
    pause_s, change = physics[12], physics[13]
    best, explored = first, 0
    for place in range(len(per_tuple)):
        u = in_turn(place, first)
        own, stays, moves = resource[u], np.inf, np.inf
        if bound and place > 0:
            stays, moves = cost_limits(u, best, still, moved, pn, pf, pc, gn, gf, gc)
        if pause_s <= 0.0:
            stays = max(stays, moves - change)
        still[u] = np.inf
        if own + least[u] <= stays:
            explored += len(errors)
            still[u] = own + expected_cost(
                rate, deviation, errors, chances, waiting, per_tuple[u], cap[u], physics, 0.0, values[u], points,
                least[u], stays - own,
            )  # fmt: skip
        moved[u] = still[u] + change if pause_s <= 0.0 else np.inf
        if pause_s > 0.0 and own + change + least[u] <= moves:
            explored += len(errors)
            moved[u] = own + change + expected_cost(
                rate, deviation, errors, chances, waiting, per_tuple[u], cap[u], physics, pause_s, values[u], points,
                least[u], moves - own - change,
            )  # fmt: skip
        if moved[u] < moved[best]:
            best = u
    return best, explored


fill_costs: Any = njit(nogil=True, cache=True, error_model="numpy")(_fill_costs)


def _cost_from(
    at: int, u: int, waiting: float, rate: float, deviation: float, errors: Floats, chances: Floats, per_tuple: Floats,
    cap: Floats, resource: Floats, replicas: Floats, pauses_s: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float,
    gf: float, gc: float, physics: Floats, values: Floats, least: float, points: Floats, cost_limit: float,
) -> float:  # fmt: skip
    """Of a step with a setting, from another one on, and of all that follow it; infinite if more than `cost_limit`."""
    differs = replicas[u] != replicas[at]
    own = resource[u] + distance_between(at, u, pn, pf, pc, gn, gf, gc) + (physics[13] if differs else 0.0)
    if own + least > cost_limit:
        return np.inf
    return float(
        own
        + expected_cost(
            rate, deviation, errors, chances, waiting, per_tuple[u], cap[u], physics, pauses_s[u] if differs else 0.0,
            values[u], points, least, cost_limit - own,
        )
    )  # fmt: skip


cost_from: Any = njit(nogil=True, cache=True, error_model="numpy")(_cost_from)


def _cheapest_from(
    at: int, waiting: float, rate: float, deviation: float, errors: Floats, chances: Floats, per_tuple: Floats,
    cap: Floats, resource: Floats, replicas: Floats, pauses_s: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float,
    gf: float, gc: float, physics: Floats, values: Floats, least: Floats, points: Floats, bound: bool,
) -> tuple[int, float]:  # fmt: skip
    """The best next setting of one, which is looked at first, and its cost; the first of several that are as good."""
    choice, best = at, np.inf
    for place in range(len(per_tuple)):
        u = in_turn(place, at)
        cost = cost_from(
            at, u, waiting, rate, deviation, errors, chances, per_tuple, cap, resource, replicas, pauses_s, pn, pf, pc,
            gn, gf, gc, physics, values, least[u], points, with_rounding(best) if bound else np.inf,
        )  # fmt: skip
        if cost < best or (cost == best and u < choice):
            choice, best = u, cost
    return choice, best


cheapest_from: Any = njit(nogil=True, cache=True, error_model="numpy")(_cheapest_from)


def _with_second_steps(
    costs: Floats, at: int, waiting: float, rates: Floats, deviations: Floats, errors: Floats, chances: Floats,
    per_tuple: Floats, cap: Floats, resource: Floats, replicas: Floats, first_pause_s: Floats, pn: Floats, pf: Floats,
    pc: Floats, gn: float, gf: float, gc: float, physics: Floats, values: Floats, least: Floats, points: Floats,
    bound: bool,
) -> int:  # fmt: skip
    """Puts right the costs of the likely first settings, and says how many outcomes that took at most."""
    explored, pauses_s = 0, np.full(len(per_tuple), physics[12])
    rough = costs.copy()  # infinite where the second step was worked out
    for _ in range(_LIKELY):
        u = int(np.argmin(rough))
        if rough[u] > _NEAR * costs.min():
            break
        pause_s = first_pause_s[u] if replicas[u] != replicas[at] else 0.0
        for i in range(len(errors)):
            came = max(rates[0] * (1.0 + deviations[0] * errors[i, 0]), 0.0)
            left = outcome_of(came, waiting, per_tuple[u] * errors[i, 1], cap[u], physics, pause_s)[1]
            next_cost = cheapest_from(
                u, left, rates[1], deviations[1], errors, chances, per_tuple, cap, resource, replicas, pauses_s,
                pn, pf, pc, gn, gf, gc, physics, values[2], least[2], points, bound,
            )[1]  # fmt: skip
            costs[u] += chances[i] * (next_cost - value_between(values[1, u], points, left))
        rough[u] = np.inf
        explored += len(errors) ** 2 * len(per_tuple)
    return explored


with_second_steps: Any = njit(nogil=True, cache=True, error_model="numpy")(_with_second_steps)


def _solve_chance(
    points: Floats, rates: Floats, deviations: Floats, errors: Floats, chances: Floats, per_tuple: Floats, cap: Floats,
    resource: Floats, replicas: Floats, first_pause_s: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float,
    gc: float, current: int, waiting: float, physics: Floats, bound: bool,
) -> tuple[Any, float, int]:  # fmt: skip
    horizon, settings = len(rates), len(per_tuple)
    values, least = np.zeros((horizon + 1, settings, len(points))), np.zeros((horizon + 1, settings))
    still, moved = np.empty(settings), np.empty(settings)
    best, explored = current, settings * len(errors) * horizon
    for step in range(horizon - 1, 0, -1):
        for b in range(len(points)):
            best, looked = fill_costs(
                still, moved, best, points[b], rates[step], deviations[step], errors, chances, per_tuple, cap, resource,
                pn, pf, pc, gn, gf, gc, physics, values[step + 1], least[step + 1], points, bound,
            )  # fmt: skip
            explored += looked
            values[step, :, b] = cheapest_before(still, moved, pn, pf, pc, gn, gf, gc)
        for u in range(settings):
            least[step, u] = values[step, u].min()
    costs = np.empty(settings)
    for u in range(settings):
        costs[u] = cost_from(
            current, u, waiting, rates[0], deviations[0], errors, chances, per_tuple, cap, resource, replicas,
            first_pause_s, pn, pf, pc, gn, gf, gc, physics, values[1], least[1, u], points, np.inf,
        )  # fmt: skip
    if horizon > 1:
        explored += with_second_steps(
            costs, current, waiting, rates, deviations, errors, chances, per_tuple, cap, resource, replicas,
            first_pause_s, pn, pf, pc, gn, gf, gc, physics, values, least, points, bound,
        )  # fmt: skip
    choice = int(np.argmin(costs))
    pause_s = first_pause_s[choice] if replicas[choice] != replicas[current] else 0.0
    trajectory, pauses_s = np.empty(horizon, np.int64), np.full(settings, physics[12])
    trajectory[0] = choice
    for step in range(1, horizon):
        before = choice
        waiting = outcome_of(rates[step - 1], waiting, per_tuple[before], cap[before], physics, pause_s)[1]
        choice, _ = cheapest_from(
            before, waiting, rates[step], deviations[step], errors, chances, per_tuple, cap, resource, replicas,
            pauses_s, pn, pf, pc, gn, gf, gc, physics, values[step + 1], least[step + 1], points, bound,
        )  # fmt: skip
        pause_s = physics[12] if replicas[choice] != replicas[before] else 0.0
        trajectory[step] = choice
    return trajectory, costs[trajectory[0]], explored


search: Any = njit(nogil=True, cache=True, error_model="numpy")(_solve_chance)
