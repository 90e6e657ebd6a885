"""Ready MPC policies: the paper's strategies with their weights, and the default that follows from a goal."""

from __future__ import annotations

from typing import Literal

from penstock.control.goals.goal import Goal, Price, Weights, derived_weights
from penstock.control.goals.payback import DEFAULT_PAYBACK, payback_s
from penstock.control.mpc.policy import Mpc
from penstock.control.setting import Grid
from penstock.errors import InputError
from penstock.model.forecasters.holt_winters import HoltWinters
from penstock.model.power import PowerModel

Strategy = Literal["Th-Node", "Th-Power", "Lat-Node", "Lat-Power"]
Workload = Literal["random_walk", "real"]

PAPER_FREQUENCIES_GHZ = tuple(round(1.2 + 0.1 * i, 1) for i in range(9))
PAPER_REPLICAS = tuple(range(1, 13))
PAPER_GRID = Grid(PAPER_REPLICAS, PAPER_FREQUENCIES_GHZ)
BETA, GAMMA = 0.5, 0.4
PAPER_TUPLE_S = 0.001  # about what a tuple takes one replica there, at the highest frequency
ALPHAS: dict[Strategy, dict[Workload, float]] = {
    "Th-Node": {"random_walk": 200.0, "real": 200.0},
    "Th-Power": {"random_walk": 200.0, "real": 300.0},
    "Lat-Node": {"random_walk": 2.0, "real": 3.0},
    "Lat-Power": {"random_walk": 2.0, "real": 4.0},
}
HORIZON = 10
LEAST_DEVIATION = 0.03  # of a forecast, however good it was so far
CONFIDENCE = 1.2  # times the errors measured, since they are known from some twenty steps only


def paper_strategy(
    strategy: Strategy,
    workload: Workload = "real",
    *,
    switching: bool = True,
    horizon: int = 1,
    threshold_s: float = 1.0,
    interval_s: float = 0.0,
    service_scale: float = 1.0,
) -> Mpc:
    """A strategy of Table 6: alpha as printed, beta 0.5, gamma 0.4 (0 without switching cost).

    `*-Node` keeps the highest frequency.  The paper's power is a proportion without a unit (Eq. 9): here a core at the
    highest frequency has 1, so that beta prices a core alike in both.  `service_scale`: alpha belongs to service times
    of the paper's size; a slower application (by this factor) has larger ones, and alpha is divided by it.
    """
    if strategy not in ALPHAS:
        raise InputError(f"there is no strategy '{strategy}'; there are: {', '.join(ALPHAS)}")
    if horizon < 1:
        raise InputError(f"a horizon has at least one step; got {horizon}")
    by_power = strategy.endswith("Power")
    by_throughput = strategy.startswith("Th")
    gamma = GAMMA if switching else 0.0
    alpha = ALPHAS[strategy][workload]
    weights = Weights(
        quality="service_time" if by_throughput else "exponential_latency",
        alpha=alpha / service_scale if by_throughput else alpha,
        beta=BETA,
        gammas=(gamma, gamma, gamma),
        threshold_s=threshold_s,
        replicas_weight=0.0 if by_power else 1.0,
        watts_weight=1.0 / PowerModel().watts(1, PAPER_FREQUENCIES_GHZ[-1]) if by_power else 0.0,
    )
    frequencies = PAPER_FREQUENCIES_GHZ if by_power else PAPER_FREQUENCIES_GHZ[-1:]
    name = f"{strategy} {'Sw' if switching else 'NoSw'} h={horizon}"
    return Mpc(
        Grid(PAPER_REPLICAS, frequencies), weights, horizon, confidence=0.0, solver="dynamic",
        forecaster=HoltWinters(), interval_s=interval_s, waiting_only=True, name=name,
    )  # fmt: skip


def default_mpc(
    goal: Goal,
    grid: Grid,
    *,
    price: Price | None = None,
    payback: str | float = DEFAULT_PAYBACK,
    pause_s: float = 0.0,
    lead_steps: int = 0,
    interval_s: float = 0.0,
    horizon: int = HORIZON,
) -> Mpc:
    """MPC from what a user understands: the goal, the price of a core, and how soon a change must have paid.

    `payback`: 'calm', 'balanced' or 'eager', or the seconds within which a change has to pay.
    """
    weights = derived_weights(goal, grid.replicas[-1], price or Price(), payback_s(payback), period_s=1.0)
    return Mpc(
        grid,
        weights,
        horizon,
        confidence=CONFIDENCE,
        least_margin=LEAST_DEVIATION,
        solver="chance",
        pause_s=pause_s,
        lead_steps=lead_steps,
        interval_s=interval_s,
    )
