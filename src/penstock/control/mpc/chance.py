"""Dynamic programming over chances: rates may come higher than forecast, and a broken goal has a price.

The state is (setting, tuples that wait), the latter on a grid with straight lines between its points.  In each step the
rate is one of seven, by how far forecasts were off so far, or tasks straggle; later decisions know what came, as they
will.  Where a goal breaks, straight lines are far off: the second step of first ones that are near the best is worked
out for what waits then.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.control.mpc.chance_search import FINE_POINTS, outcome_of, search
from penstock.control.mpc.dynamic import distance_between
from penstock.control.mpc.problem import Floats, Solution, Switching
from penstock.model.forecasters.tails import CHANCES

# A normal distribution in seven pieces, finer where a goal breaks: the mean of each piece and its probability.
ERRORS = np.array([-0.798, 0.460, 1.224, 1.715, 2.207, 2.690, 3.253])
CERTAIN = (np.zeros(1), np.ones(1))
_FINE_S, _POINTS = 2.4, 26


@dataclass(frozen=True, slots=True, eq=False)
class ChanceProblem:
    """A horizon of steps whose rates are known up to `deviations` (standard errors as a share of the rate).

    `waiting_tuples`: all that wait now.  A step that breaks its goal costs `violation`, and `excess` times by how much
    (more where it takes longer than `period_s`):
    a mean latency above `threshold_s`, or (None) tuples older than `due_s` beyond `missing` of a step's arrivals.
    A change of replicas costs `change`, whatever its size, and pauses: now for `first_pause_s` by setting, in later
    steps for `pause_s`.  `blur`: how far predictions of the model are off, as a share.  A step is slow with
    `slow_chance`: its tuples take `slow_factor` times as long.
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
    slow_chance: float = 0.0
    slow_factor: float = 1.0
    errors: tuple[Floats, Floats] = (ERRORS, CHANCES)

    @property
    def horizon(self) -> int:
        return len(self.rates_tuples_s)

    @property
    def scenarios(self) -> tuple[Floats, Floats]:
        """What may come: the error of the rate beside how many times as long tuples take; and how probable each is."""
        errors, chances = self.errors
        errors = np.column_stack([errors, np.ones(len(errors))])
        if self.slow_chance <= 0:
            return errors, chances
        slow = np.array([[0.0, self.slow_factor]])
        return np.concatenate([errors, slow]), np.append((1 - self.slow_chance) * chances, self.slow_chance)

    @property
    def physics(self) -> Floats:
        """All single figures, as the kernels take them."""
        threshold_s = self.threshold_s if self.threshold_s is not None else 0.0
        return np.array(
            [self.violation, self.excess, threshold_s, self.due_s, self.missing, self.blur, self.correction,
             self.spread, self.overhead_s, self.limit_tuples_s, self.interval_s, self.period_s,
             self.pause_s, self.change]
        )  # fmt: skip

    def outcome(
        self, rate: float, setting: int, waiting_tuples: float, pause_s: float, slower: float = 1.0
    ) -> tuple[float, float]:
        """What a step with this rate costs besides its resources, and what waits after it."""
        cost, left = outcome_of(
            rate, waiting_tuples, slower * float(self.per_tuple_s[setting]), float(self.cap_tuples[setting]),
            self.physics, pause_s,
        )  # fmt: skip
        return float(cost), float(left)


def solve_chance(problem: ChanceProblem, *, bound: bool = True) -> Solution:
    """The best first setting; the trajectory goes on as if every rate came as forecast.

    Without `bound` every setting is looked at everywhere, for the same solution.
    """
    s = problem.switching
    trajectory, cost, explored = search(
        waiting_points(problem), problem.rates_tuples_s, problem.deviations, *problem.scenarios, problem.per_tuple_s,
        problem.cap_tuples, problem.resource_cost, problem.replicas, problem.first_pause_s, *s.positions, *s.gammas,
        problem.current, problem.waiting_tuples, problem.physics, bound,
    )  # fmt: skip
    return Solution(tuple(int(u) for u in trajectory), float(cost), int(explored))


def keeps_goal(problem: ChanceProblem) -> bool:
    """Whether the first setting, kept throughout, is sure to keep the goal: at the highest rates, in a slow step."""
    highest = float(problem.errors[0].max())
    first_slower = problem.slow_factor if problem.slow_chance > 0 else 1.0
    for error, slower in ((highest, 1.0), (0.0, first_slower)):
        waiting = problem.waiting_tuples
        for rate, deviation in zip(problem.rates_tuples_s, problem.deviations, strict=True):
            cost, waiting = problem.outcome(float(rate * (1 + deviation * error)), 0, waiting, 0.0, slower)
            if cost > 0:
                return False
            slower = 1.0
    return True


def staying_cost(problem: ChanceProblem, setting: int) -> float:
    """What a setting costs from now on where it stays throughout, and what waits goes as the forecast has it."""
    s, (errors, chances), waiting = problem.switching, problem.scenarios, problem.waiting_tuples
    pauses_s = problem.first_pause_s
    is_change = problem.replicas[setting] != problem.replicas[problem.current]
    pause_s = float(pauses_s[setting]) if is_change and len(pauses_s) else 0.0
    total = float(distance_between(problem.current, setting, *s.positions, *s.gammas))
    total += problem.change if is_change else 0.0
    for rate, deviation in zip(problem.rates_tuples_s, problem.deviations, strict=True):
        costs = [
            problem.outcome(max(float(rate * (1 + deviation * error)), 0.0), setting, waiting, pause_s, slower)[0]
            for error, slower in errors.tolist()
        ]
        total += float(problem.resource_cost[setting]) + float(np.dot(chances, costs))
        _, waiting = problem.outcome(float(rate), setting, waiting, pause_s)
        pause_s = 0.0
    return total


def waiting_points(problem: ChanceProblem) -> Floats:
    """Seconds of the highest rate: even up to `_FINE_S`, where goals break, then wider and wider up to all there is."""
    high = max(float(problem.rates_tuples_s.max()), 1.0)
    most_s = problem.waiting_tuples / high + 1.5 * problem.horizon * problem.period_s + 2 * _FINE_S
    fine = np.linspace(0.0, _FINE_S, FINE_POINTS)
    wide = np.geomspace(_FINE_S, most_s, _POINTS - FINE_POINTS + 1)[1:]
    return np.asarray(np.concatenate([fine, wide]) * high)
