"""Model-predictive control of replicas, frequency and micro-batch cap: PROACTIVE, section 3, backlog included."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from penstock.control.control_step import ControlStep
from penstock.control.decision import Alternative, Decision, Expectation, Hold, change_or_hold
from penstock.control.goals.goal import MEAN_TO_P95, Weights
from penstock.control.mpc.backlog import as_tables, solve_backlog
from penstock.control.mpc.catching_up import fastest_if_behind
from penstock.control.mpc.chance import CERTAIN, ChanceProblem, solve_chance, staying_cost
from penstock.control.mpc.dynamic import solve_dynamic
from penstock.control.mpc.learning import Learned, learn
from penstock.control.mpc.problem import HIGHEST_EXPONENT, BacklogProblem, Floats, Solution, Switching
from penstock.control.routes.rebalance import DEFAULT_IMBALANCE
from penstock.control.setting import Grid, Setting
from penstock.model.forecasters.latest import Latest
from penstock.model.forecasters.mixture import Mixture
from penstock.model.forecasters.protocol import Forecaster
from penstock.model.forecasters.tails import CHANCES
from penstock.model.forecasters.tracked import Tracked
from penstock.model.latency import corrected_s
from penstock.model.micro_batch import capacity_tuples_s, predict_step
from penstock.model.micro_batch_run import run_step
from penstock.model.power import PowerModel
from penstock.model.throughput import computation_s

_FULL = 0.95  # of what a service or the heaviest slot takes: what is planned for where that is the bottleneck
_LEAST_BLUR, _MOST_BLUR = 0.02, 0.1  # a model that is off by more says nothing about chances
_BY_SIZE = 0.04  # of the quadratic switching cost, where a change has a price of its own
Solver = Literal["chance", "backlog", "dynamic"]


@dataclass(frozen=True, slots=True)
class Mpc:
    """The policy.

    `confidence`: how many standard errors of its forecasts a plan keeps in hand, and at least `least_margin` of the
    rate, since micro-batches grow without bound as utilization nears 1.  `pause_s`: service lost by a change
    of replicas.  `lead_steps`: steps from asking for a replica to having it.  `interval_s`: micro-batches begin at
    least so far apart.  `allowed_imbalance`: what balancing leaves.  `solver`: with backlog in the state, or the
    paper's costs by dynamic programming.  `alpha_tuple_s`: alpha is for tuples that take so long on
    one replica at the highest frequency, and follows what they take; None: as it is.  `waiting_only`: predictions are
    corrected by Equation 8 as printed.
    """

    grid: Grid
    weights: Weights
    horizon: int = 10
    period_s: float = 1.0
    confidence: float = 1.0
    least_margin: float = 0.0
    solver: Solver = "backlog"
    forecaster: Forecaster = field(default_factory=Mixture)
    power: PowerModel = field(default_factory=PowerModel)
    pause_s: float = 0.0
    lead_steps: int = 0
    interval_s: float = 0.0
    allowed_imbalance: float = DEFAULT_IMBALANCE
    alpha_tuple_s: float | None = None
    waiting_only: bool = False
    name: str = "mpc"

    def start(self) -> Learned:
        latest = Latest(self.horizon) if self.solver == "chance" else None
        return Learned(Tracked(self.forecaster, self.horizon, latest=latest), given_pause_s=self.pause_s)

    def decide(self, state: Learned, seen: ControlStep) -> tuple[Learned, Decision]:
        state = self.learn(state, seen)
        return state, self.decision(state, seen)

    def decision(self, state: Learned, seen: ControlStep) -> Decision:
        """What follows from a step that was learned from."""
        if state.gigacycles is None:
            return Hold("nothing was served yet, so costs are unknown")
        rates = self.planned_rates(state)
        solution = self.solve(state, seen.setting, rates)
        desired = self.grid.setting(solution.trajectory[0])
        expected = self._expectation(state, seen.setting, desired)
        decision = change_or_hold(seen.setting, desired, self._because(state, desired, rates), expected)
        return replace(decision, alternatives=self._alternatives(state, seen.setting, desired, rates))

    def _alternatives(
        self, state: Learned, current: Setting, desired: Setting, rates: Floats
    ) -> tuple[Alternative, ...]:
        """Neighbours of the chosen setting and the one in force: what going there and staying would cost."""
        near = {desired.replicas - 1, desired.replicas + 1, current.replicas} - {desired.replicas}
        others = [replace(desired, replicas=n) for n in sorted(near) if n in self.grid.replicas]
        if not others:
            return ()
        if self.solver == "chance":
            chances = self.chances(state, current, rates)
            costs = [staying_cost(chances, self.grid.index(own)) for own in (desired, *others)]
        else:
            problem = self.problem(state, current, rates)
            costs = [problem.cost((self.grid.index(own),) * self.horizon) for own in (desired, *others)]
        if not costs[0] > 0:
            return ()
        return tuple(Alternative(own, cost / costs[0]) for own, cost in zip(others, costs[1:], strict=True))

    def learn(self, state: Learned, seen: ControlStep) -> Learned:
        highest_ghz = self.grid.frequencies_ghz[-1]
        if seen.setting.frequency_ghz is None and highest_ghz is not None:  # left alone: as fast as it can
            seen = replace(seen, setting=replace(seen.setting, frequency_ghz=highest_ghz))
        return learn(
            state,
            seen,
            self.interval_s,
            by_batches=self.solver == "chance",
            waiting_only=self.waiting_only,
            allowed_imbalance=self.allowed_imbalance,
        )

    def planned_rates(self, state: Learned) -> Floats:
        """The rates to be ready for, each as early as a replica has to be asked for; with a margin but for chances."""
        steps = self.horizon + self.lead_steps
        rates = np.asarray(state.rate.forecast(steps))
        if self.solver != "chance":
            rates = rates + np.maximum(self.confidence * state.rate.deviations(1)[0], self.least_margin * rates)
        return np.array([rates[i : i + self.lead_steps + 1].max() for i in range(self.horizon)])

    def solve(self, state: Learned, current: Setting, rates: Floats) -> Solution:
        if self.solver == "chance":
            chances = self.chances(state, current, rates)
            fastest = fastest_if_behind(chances)
            return solve_chance(chances) if fastest is None else Solution((fastest,) * self.horizon, np.inf, 0)
        problem = self.problem(state, current, rates)
        if self.solver == "backlog":
            return solve_backlog(problem)
        return solve_dynamic(as_tables(problem))

    def problem(self, state: Learned, current: Setting, rates: Floats) -> BacklogProblem:
        """This step's optimisation, from what was learned.

        What a service behind the element cannot take, or one replica with the heaviest slot alone, no setting can
        serve: it is left out, as is what a change would cost a stream that falls behind anyway, so that nothing presses
        on what is full, and replicas that are of no use go.
        """
        limit = state.limit.limit_tuples_s
        most = min(limit, self._heaviest_slot_tuples_s(state))
        hopeless = float(rates.min()) > most
        settings = [self.grid.setting(u) for u in range(len(self.grid))]
        return BacklogProblem(
            rates_tuples_s=np.minimum(rates, _FULL * most) if hopeless else rates,
            per_tuple_s=np.array([state.per_tuple_s(s) for s in settings]),
            cap_tuples=np.array([float(s.micro_batch_tuples) for s in settings]),
            resource_cost=np.array([self.resource_cost(s) for s in settings]),
            replicas=np.array([float(s.replicas) for s in settings]),
            switching=Switching(self.weights.gammas, self.grid.positions()),
            current=self.grid.index(current),
            backlog_tuples=0.0 if hopeless else state.backlog_tuples,
            quality=self.weights.quality,
            alpha=self._alpha(state),
            threshold_s=self.weights.threshold_s,
            overhead_s=state.overhead_s or 0.0,
            limit_tuples_s=limit,
            interval_s=self.interval_s,
            period_s=self.period_s,
            pause_s=0.0 if hopeless else state.pause_s,
            correction=state.correction * self._tail(state) * (1 + self.confidence * state.latency_deviation),
            spread=state.spread,
            waiting_only=self.waiting_only,
        )

    def chances(self, state: Learned, current: Setting, rates: Floats) -> ChanceProblem:
        """The same as `problem`, with what forecasts and predictions were off by in place of margins."""
        plain = self.problem(state, current, rates)
        at, (gn, gf, gc) = current.replicas, self.weights.gammas
        pauses_s = [state.change_pause_s(at, int(n)) if plain.pause_s > 0 else 0.0 for n in plain.replicas]
        certain = self.confidence == 0
        share = 0.0 if certain else max(self.confidence * state.rate.share(), self.least_margin)
        return ChanceProblem(
            rates_tuples_s=plain.rates_tuples_s,
            deviations=np.full(self.horizon, share),
            per_tuple_s=plain.per_tuple_s,
            cap_tuples=plain.cap_tuples,
            resource_cost=plain.resource_cost,
            replicas=plain.replicas,
            switching=replace(plain.switching, gammas=(_BY_SIZE * gn, gf, gc)),
            current=plain.current,
            waiting_tuples=state.waiting_tuples - state.backlog_tuples + plain.backlog_tuples,
            violation=self.weights.violation,
            excess=self.weights.violation,
            threshold_s=self.weights.threshold_s if self.weights.quality == "latency" else None,
            due_s=self.weights.due_s,
            missing=self.weights.missing,
            blur=min(max(state.latency_deviation, _LEAST_BLUR), _MOST_BLUR),
            correction=state.correction * self._tail(state),
            spread=plain.spread,
            overhead_s=plain.overhead_s,
            limit_tuples_s=plain.limit_tuples_s,
            interval_s=plain.interval_s,
            period_s=plain.period_s,
            first_pause_s=np.array(pauses_s),
            pause_s=state.change_pause_s(at, at + 1) if plain.pause_s > 0 else 0.0,
            change=self.weights.change,
            slow_chance=0.0 if certain else state.slow_steps.chance,
            slow_factor=state.slow_steps.factor,
            errors=CERTAIN if certain else (state.rate.tails.pieces(), CHANCES),
        )

    def _alpha(self, state: Learned) -> float:
        """Service times are weighed by how long a tuple takes, else those of quick ones cost next to nothing."""
        if self.alpha_tuple_s is None or not state.gigacycles:
            return self.weights.alpha
        alone_s = computation_s(state.gigacycles, self.grid.frequencies_ghz[-1] or 1.0)
        return self.weights.alpha * self.alpha_tuple_s / alone_s

    def _heaviest_slot_tuples_s(self, state: Learned) -> float:
        """What a stream may bring until the replica with its heaviest slot, which has nothing else, is full."""
        if state.gigacycles is None or state.heaviest_share <= 0:
            return float("inf")
        alone_s = computation_s(state.gigacycles, self.grid.frequencies_ghz[-1] or 1.0)
        cap = float(self.grid.caps_tuples[-1])
        return float(capacity_tuples_s(alone_s * state.heaviest_share, state.overhead_s or 0.0, cap))

    def _tail(self, state: Learned) -> float:
        """How much further than was assumed the percentile of the goal lies from the mean that is predicted."""
        return max(state.tail / MEAN_TO_P95, 1.0) if self.weights.by_p95 else 1.0

    def resource_cost(self, setting: Setting) -> float:
        """Per core, per watt, or both by their prices.   Eq. 13 and 14"""
        w = self.weights
        cost = w.replicas_weight * setting.replicas
        if w.watts_weight > 0:
            highest_ghz = self.power.voltages.frequencies_ghz[-1]  # cores that are left alone count as so fast
            cost += w.watts_weight * self.power.watts(setting.replicas, setting.frequency_ghz or highest_ghz)
        return w.beta * cost

    def _expectation(self, state: Learned, current: Setting, desired: Setting) -> Expectation:
        """Of the next step, by the forecast itself, without margin."""
        rate = state.rate.forecast(1)[0]
        per_tuple_s, overhead_s = state.per_tuple_s(desired), state.overhead_s or 0.0
        cap, limit = float(desired.micro_batch_tuples), state.limit.limit_tuples_s
        pause_s = state.pause_s if desired.replicas != current.replicas else 0.0
        if self.solver == "chance":
            if pause_s > 0:
                pause_s = state.change_pause_s(current.replicas, desired.replicas)
            _, _, left, latency_s = run_step(
                rate, state.waiting_tuples, per_tuple_s, state.spread, overhead_s, cap, limit, self.interval_s,
                self.period_s, pause_s,
            )  # fmt: skip
        else:
            _, left, latency_s = predict_step(
                rate, state.backlog_tuples, per_tuple_s, desired.replicas, state.spread, overhead_s, cap, limit,
                self.interval_s, self.period_s, pause_s,
            )  # fmt: skip
        latency_s = float(corrected_s(latency_s, per_tuple_s * desired.replicas, state.correction, self.waiting_only))
        saturated = list(state.saturated)
        if rate * per_tuple_s >= 1:
            saturated.append("utilization at or above 1")
        if self.weights.quality == "exponential_latency" and latency_s / self.weights.threshold_s > HIGHEST_EXPONENT:
            saturated.append("exponential of the latency")
        watts = None if desired.frequency_ghz is None else self.power.watts(desired.replicas, desired.frequency_ghz)
        capacity = min(capacity_tuples_s(per_tuple_s, overhead_s, cap), limit)
        return Expectation(rate, capacity, latency_s, left, watts, tuple(saturated))

    def _because(self, state: Learned, desired: Setting, rates: Floats) -> str:
        capacity = capacity_tuples_s(
            state.per_tuple_s(desired), state.overhead_s or 0.0, float(desired.micro_batch_tuples)
        )
        text = (
            f"demand up to {rates.max():.0f} tuples/s within {self.horizon} steps, backlog "
            f"{state.backlog_tuples:.0f}, capacity {min(capacity, state.limit.limit_tuples_s):.0f}"
        )
        if state.limit.limit_tuples_s < rates.max():
            text += "; a service behind it takes no more"
        return text
