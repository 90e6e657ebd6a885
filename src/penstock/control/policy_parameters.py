"""The names of policies and the parameters of each, with their ranges and defaults; imports no policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

ParameterValue = float | int | bool | str
Kind = Literal["number", "whole", "yes", "word"]
_YES = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class PolicyParameter:
    """One parameter: a number within its range (`above`: without its lowest), yes or no, or a word out of several.

    `default` is as a user would write it.

    >>> PolicyParameter("headroom", "1.2", lowest=1.0).value("1.5")
    1.5
    """

    name: str
    default: str
    kind: Kind = "number"
    lowest: float = 0.0
    highest: float = math.inf
    above: bool = False
    words: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """What it may be.

        >>> PolicyParameter("target", "0.7", highest=1.0, above=True).rule
        'a number above 0 and at most 1'
        """
        if self.kind in ("yes", "word"):
            return " or ".join(self.words or _YES)
        noun = "a number" if self.kind == "number" else "a whole number"
        low = f"above {self.lowest:g}" if self.above else f"of at least {self.lowest:g}"
        return f"{noun} {low}" + (f" and at most {self.highest:g}" if math.isfinite(self.highest) else "")

    def value(self, text: str) -> ParameterValue | None:
        """What a text says; None where it breaks the rule."""
        if self.kind == "yes":
            return _YES.get(text)
        if self.kind == "word":
            return text if text in self.words else None
        try:
            number = float(text) if self.kind == "number" else int(text)
        except ValueError:
            return None
        fits = self.lowest <= number <= self.highest and math.isfinite(number)
        return None if not fits or (self.above and number == self.lowest) else number


def _positive(name: str, default: str, highest: float = math.inf) -> PolicyParameter:
    return PolicyParameter(name, default, highest=highest, above=True)


def _share(name: str, default: str) -> PolicyParameter:
    return PolicyParameter(name, default, highest=1.0)


def _horizon(default: str) -> PolicyParameter:
    return PolicyParameter("horizon", default, "whole", 1, 100)


_STRATEGY = (
    _horizon("2"),
    PolicyParameter("switching", "yes", "yes"),
    PolicyParameter("load", "real", "word", words=("random_walk", "real")),
)
_HIGHEST = "max_replicas"  # of the limits
PARAMETERS_BY_POLICY: dict[str, tuple[PolicyParameter, ...]] = {
    "mpc": (_horizon("10"), PolicyParameter("confidence", "1.2")),
    "static": (PolicyParameter("replicas", _HIGHEST, "whole", 1),),
    "thresholds": (_positive("high", "0.9"), PolicyParameter("low", "0.8")),
    "thresholds-0.95": (_positive("high", "0.95"), PolicyParameter("low", "0.8")),
    "spl": (
        _share("congestion", "0.1"), _positive("sensitivity", "0.9"), _positive("adaptation_s", "4"),
        PolicyParameter("rapid", "no", "yes"),
    ),
    "ds2": (_positive("interval_s", "10"), PolicyParameter("warm_up_s", "30"), _positive("headroom", "1")),
    "flink-autoscaler": (
        _positive("target", "0.7", 1.0), _share("boundary", "0.3"), _positive("window_s", "900"),
        PolicyParameter("stabilisation_s", "300"), PolicyParameter("scale_down_delay_s", "3600"),
        PolicyParameter("restart_s", "300"), _positive("catch_up_s", "1800"), _share("most_down", "0.6"),
    ),
    "kubernetes-hpa": (
        _positive("target", "0.7", 1.0), _share("tolerance", "0.1"), _positive("sync_s", "15"),
        PolicyParameter("stabilisation_s", "300"), PolicyParameter("up_period_s", "15"),
        PolicyParameter("up_pods", "4", "whole"), PolicyParameter("up_ratio", "1"),
    ),
    "spark-dynamic-allocation": (
        PolicyParameter("tasks", _HIGHEST, "whole", 1), PolicyParameter("backlog_s", "1"),
        PolicyParameter("sustained_s", "1"), PolicyParameter("idle_s", "60"),
    ),
    "spark-batch-ratio": (_positive("scaling_s", "60"), _positive("up", "0.9"), PolicyParameter("down", "0.3")),
    "th-node": _STRATEGY, "th-power": _STRATEGY, "lat-node": _STRATEGY, "lat-power": _STRATEGY,
}  # fmt: skip
POLICY_NAMES = tuple(PARAMETERS_BY_POLICY)
ASCENDING = {"thresholds": ("low", "high"), "thresholds-0.95": ("low", "high"), "spark-batch-ratio": ("down", "up")}


def parameters_text(policy: str) -> str:
    """A policy's parameters with their defaults.

    >>> parameters_text("ds2")
    'interval_s=10, warm_up_s=30, headroom=1'
    """
    return ", ".join(f"{own.name}={own.default}" for own in PARAMETERS_BY_POLICY[policy])
