"""One replica more above a utilization, one less below another: PROACTIVE, section 5.4."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, Hold
from penstock.control.rules.replica_bounds import FULL_RANGE, Bounds


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The paper compares 0.9/0.8 and 0.95/0.8."""

    high: float = 0.9
    low: float = 0.8
    bounds: Bounds = FULL_RANGE

    @property
    def name(self) -> str:
        return f"thresholds {self.high:g}/{self.low:g}"

    def start(self) -> None:
        return None

    def decide(self, state: None, seen: ControlStep) -> tuple[None, Decision]:
        ratio = seen.offered_ratio
        if ratio is None:
            return state, Hold("nothing was served, so the utilization is unknown")
        step = 1 if ratio > self.high else -1 if ratio < self.low else 0
        return state, self.bounds.to(seen, seen.setting.replicas + step, f"utilization {ratio:.2f}")
