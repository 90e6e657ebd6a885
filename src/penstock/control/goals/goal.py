"""What a user asks for, and the weights of the cost that follow from it: nobody tunes alpha, beta, gamma."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.arguments import checked_call, checked_calls, is_number
from penstock.errors import InputError
from penstock.model.power import SERVER_VOLTAGES, PowerModel

Quality = Literal["service_time", "exponential_latency", "backlog", "latency"]
QUALITIES: tuple[Quality, ...] = ("service_time", "exponential_latency", "backlog", "latency")
SERVED_RATIO = 0.95  # theta of PROACTIVE, section 5.3.3
MEAN_TO_P95 = 1.3  # of a steady stream of micro-batches: 1.95 / 1.5 durations


@dataclass(frozen=True, slots=True)
class Goal:
    """Keep up with the stream (`served_ratio` of each step's tuples, due after `due_s`), or stay below a latency."""

    served_ratio: float = SERVED_RATIO
    due_s: float = 1.0
    mean_s: float | None = None
    p95_s: float | None = None

    @property
    def threshold_s(self) -> float | None:
        """The mean latency that meets the goal; None for a throughput goal."""
        bounds = [b for b in (self.mean_s, self.p95_s / MEAN_TO_P95 if self.p95_s is not None else None) if b]
        return min(bounds) if bounds else None

    def problems(self) -> tuple[str, ...]:
        """What is wrong with it, a sentence each; `throughput` and `latency` make none that has any."""
        bounds = {"mean_s": self.mean_s, "p95_s": self.p95_s}
        seconds = {"due_s": self.due_s} | {name: bound for name, bound in bounds.items() if bound is not None}
        found = [
            f"{name} of a goal is a number of seconds above 0; got {value!r}"
            for name, value in seconds.items()
            if not is_number(value) or value <= 0
        ]
        return (*_share_problems(self.served_ratio), *found)


def _share_problems(served_ratio: object) -> tuple[str, ...]:
    if is_number(served_ratio) and 0 < served_ratio <= 1:
        return ()
    return (f"a throughput goal is a share of the tuples, above 0 and at most 1; got {served_ratio!r}",)


@checked_call("ps.throughput")
def throughput(served_ratio: float = SERVED_RATIO) -> Goal:
    """Keep up with the stream.

    >>> throughput().threshold_s is None
    True
    """
    if problems := _share_problems(served_ratio):
        raise InputError(problems[0])
    return Goal(served_ratio=served_ratio)


@checked_call("ps.latency")
def latency(p95_ms: float | None = None, mean_ms: float | None = None) -> Goal:
    """Keep the latency of results below a bound.

    >>> latency(p95_ms=1300).threshold_s
    1.0
    """
    if p95_ms is None and mean_ms is None:
        raise InputError("a latency goal needs a bound; give p95_ms or mean_ms")
    bounds = {"p95_ms": p95_ms, "mean_ms": mean_ms}
    problems = [
        f"{name} of a latency goal is a number of milliseconds above 0; got {bound!r}"
        for name, bound in bounds.items()
        if bound is not None and (not is_number(bound) or bound <= 0)
    ]
    if problems:
        raise InputError("\n".join(problems))
    return Goal(mean_s=None if mean_ms is None else mean_ms / 1000, p95_s=None if p95_ms is None else p95_ms / 1000)


@checked_calls("Price")
@dataclass(frozen=True, slots=True)
class Price:
    """What resources cost; only their ratio matters to decisions.  `kwh` counts where frequencies can be chosen.

    >>> Price(core_hour=-1).problems()
    ('core_hour of a price is a number of at least 0; got -1',)
    """

    core_hour: float = 1.0
    kwh: float = 0.0

    def problems(self) -> tuple[str, ...]:
        """What is wrong with it, a sentence each."""
        parts = {"core_hour": self.core_hour, "kwh": self.kwh}
        found = tuple(
            f"{name} of a price is a number of at least 0; got {value!r}"
            for name, value in parts.items()
            if not is_number(value) or value < 0
        )
        if not found and sum(parts.values()) == 0:
            return ("a price is above 0 for a core or for energy; got 0 for both",)
        return found


@dataclass(frozen=True, slots=True)
class Weights:
    """Equations 10-15 as numbers: alpha, beta, gamma by axis (replicas, frequency, cap), and the threshold delta.

    A step costs alpha * quality + beta * (replicas + watts * `watts_weight`) + gamma * squared distance.  Where chances
    are planned with, one that breaks its goal costs `violation` in place of the first term (a throughput goal: when
    more than `missing` of its tuples are older than `due_s`), and a change of replicas `change`, whatever its size.
    """

    quality: Quality
    alpha: float
    beta: float
    gammas: tuple[float, float, float]
    threshold_s: float = 1.0
    replicas_weight: float = 1.0
    watts_weight: float = 0.0
    violation: float = 0.0
    change: float = 0.0
    due_s: float = 1.0
    missing: float = 1 - SERVED_RATIO
    by_p95: bool = False  # the threshold is that of a percentile, whose distance from the mean is measured


_VIOLATION_STEPS = 3.0
_BROKEN_STEPS = 500.0
_CAP_PART = 0.02
_CORE_WATTS = PowerModel().watts(1, SERVER_VOLTAGES.frequencies_ghz[-1])


def derived_weights(goal: Goal, highest_replicas: int, price: Price, payback_s: float, period_s: float) -> Weights:
    """Weights in core-steps: one replica at the highest frequency costs 1 for a control step, whatever the prices.

    A step that misses its goal by all of it costs `_VIOLATION_STEPS` steps of every replica there is, so that no
    saving is worth a violation that is foreseen.  A change by one replica costs what one replica costs in `payback_s`,
    so that a change which is taken back sooner does not pay.  Where chances are planned with, a step that breaks its
    goal costs `_BROKEN_STEPS` steps of every replica, and a change of any size a twelfth of them for `payback_s`.
    """
    threshold_s = goal.threshold_s
    gamma = payback_s / period_s / 2  # both ways, there and back, pay once
    core = price.core_hour + price.kwh / 1000 * _CORE_WATTS
    return Weights(
        quality="backlog" if threshold_s is None else "latency",
        alpha=_VIOLATION_STEPS * highest_replicas / (1 - SERVED_RATIO if threshold_s is None else 1.0),
        beta=1.0,
        gammas=(gamma, gamma, gamma * _CAP_PART),
        threshold_s=threshold_s if threshold_s is not None else 1.0,
        replicas_weight=price.core_hour / core,
        watts_weight=price.kwh / 1000 / core,
        violation=_BROKEN_STEPS * highest_replicas,
        change=payback_s / period_s * highest_replicas / 12,
        due_s=goal.due_s,
        missing=1 - goal.served_ratio,
        by_p95=goal.p95_s is not None and threshold_s == goal.p95_s / MEAN_TO_P95,
    )
