"""The optimisation that MPC solves at each step, as plain arrays, and the cost of a trajectory by definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from penstock.control.goals.goal import QUALITIES, Quality
from penstock.model.latency import corrected_s
from penstock.model.micro_batch import capacity_tuples_s, predict_step

Floats = npt.NDArray[np.float64]
HIGHEST_EXPONENT = 50.0  # exp would overflow later; a cost of e^50 loses against everything anyway
HIGHEST_RATIO = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Switching:
    """The quadratic switching cost: weight times squared difference, summed over the three axes.   Eq. 15"""

    gammas: tuple[float, float, float]
    positions: tuple[Floats, Floats, Floats]

    @property
    def shape(self) -> tuple[int, int, int]:
        n, f, c = (len(axis) for axis in self.positions)
        return n, f, c

    def between(self, a: int, b: int) -> float:
        places = (np.unravel_index(a, self.shape), np.unravel_index(b, self.shape))
        return float(
            sum(
                gamma * (axis[i] - axis[j]) ** 2
                for gamma, axis, i, j in zip(self.gammas, self.positions, *places, strict=True)
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class TableProblem:
    """`stage_cost[i, u]`: quality and resources of setting u in step i of the horizon; `current`: where it starts."""

    stage_cost: Floats
    switching: Switching
    current: int

    @property
    def horizon(self) -> int:
        return len(self.stage_cost)

    def cost(self, trajectory: Sequence[int]) -> float:
        total, before = 0.0, self.current
        for step, setting in enumerate(trajectory):
            total += float(self.stage_cost[step, setting]) + self.switching.between(before, setting)
            before = setting
        return total


@dataclass(frozen=True, slots=True, eq=False)
class BacklogProblem:
    """A horizon in which tuples left behind go on into the next step.

    By setting: `per_tuple_s` (Eq. 5), `cap_tuples`, `resource_cost`, and `replicas` (a change of which costs
    `pause_s` of service); by step: `rates_tuples_s`.  `waiting_only`: `correction` is of the waiting alone, as printed.
    """

    rates_tuples_s: Floats
    per_tuple_s: Floats
    cap_tuples: Floats
    resource_cost: Floats
    replicas: Floats
    switching: Switching
    current: int
    backlog_tuples: float
    quality: Quality
    alpha: float
    threshold_s: float
    overhead_s: float = 0.0
    limit_tuples_s: float = float("inf")
    interval_s: float = 0.0
    period_s: float = 1.0
    pause_s: float = 0.0
    correction: float = 1.0
    spread: float = 0.0
    waiting_only: bool = False

    @property
    def horizon(self) -> int:
        return len(self.rates_tuples_s)

    @property
    def quality_code(self) -> int:
        return QUALITIES.index(self.quality)

    def step(self, index: int, before: int, setting: int, backlog_tuples: float) -> tuple[float, float]:
        """Cost of one step, switching included, and the backlog after it."""
        moved = self.replicas[before] != self.replicas[setting]
        rate = float(self.rates_tuples_s[index])
        per_tuple_s, cap = float(self.per_tuple_s[setting]), float(self.cap_tuples[setting])
        _, left, latency_s = predict_step(
            rate, backlog_tuples, per_tuple_s, float(self.replicas[setting]), self.spread, self.overhead_s, cap,
            self.limit_tuples_s, self.interval_s, self.period_s, self.pause_s if moved else 0.0,
        )  # fmt: skip
        capacity = capacity_tuples_s(per_tuple_s, self.overhead_s, cap)
        own = quality_cost(
            self.quality_code, self.alpha, self.threshold_s, rate, self.period_s, left,
            corrected_s(latency_s, per_tuple_s * float(self.replicas[setting]), self.correction, self.waiting_only),
            min(capacity, self.limit_tuples_s),
        )  # fmt: skip
        return float(own + self.resource_cost[setting] + self.switching.between(before, setting)), float(left)

    def cost(self, trajectory: Sequence[int]) -> float:
        total, before, backlog = 0.0, self.current, self.backlog_tuples
        for index, setting in enumerate(trajectory):
            own, backlog = self.step(index, before, setting, backlog)
            total += own
            before = setting
        return total


def _quality_cost(
    code: int,
    alpha: float,
    threshold_s: float,
    rate_tuples_s: float,
    period_s: float,
    left_tuples: float,
    latency_s: float,
    capacity_tuples_s: float,
) -> float:
    """The cost of a step's quality: Eq. 11 (effective service time in ms), Eq. 12, or the part beyond the goal.

    Of the latter two, 'backlog' is the tuples left behind over a step's arrivals, 'latency' what exceeds the threshold
    over the threshold; both grow with the logarithm beyond 20, never flat, so that less is always better.
    """
    if code == 0:
        slowest = min(rate_tuples_s, capacity_tuples_s)
        return alpha * 1000.0 / max(slowest, 1e-9)
    if code == 1:
        return float(alpha * np.exp(min(latency_s / threshold_s, HIGHEST_EXPONENT)))
    if code == 2:
        ratio = left_tuples / max(rate_tuples_s * period_s, 1.0)
    else:
        ratio = max(latency_s / threshold_s - 1.0, 0.0)
    if ratio > HIGHEST_RATIO:
        ratio = HIGHEST_RATIO * (1.0 + np.log(ratio / HIGHEST_RATIO))
    return float(alpha * ratio)


quality_cost: Any = njit(nogil=True, cache=True, error_model="numpy")(_quality_cost)


@dataclass(frozen=True, slots=True)
class Solution:
    """The best trajectory, its cost, and how many nodes were looked at to find it."""

    trajectory: tuple[int, ...]
    cost: float
    explored: int
