"""Spark Streaming's own allocation rule: processing time of a batch over the batch interval."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, Hold
from penstock.control.rules.replica_bounds import FULL_RANGE, Bounds


@dataclass(frozen=True, slots=True)
class RatioState:
    """Ratios gathered since the last look, and when that was; the first step begins with one."""

    ratios: tuple[float, ...] = ()
    looked_at_s: float | None = None


@dataclass(frozen=True, slots=True)
class SparkBatchRatio:
    """Every `scaling_s`: the ratio rounded, at least one, more at `up` or above; one less at `down` or below.

    Micro-batches that follow each other without a fixed interval always fill it; their busy share serves instead.
    """

    scaling_s: float = 60.0
    up: float = 0.9
    down: float = 0.3
    bounds: Bounds = FULL_RANGE
    name: str = "spark batch ratio"

    def start(self) -> RatioState:
        return RatioState()

    def decide(self, state: RatioState, seen: ControlStep) -> tuple[RatioState, Decision]:
        ratio = seen.offered_ratio
        ratios = state.ratios if ratio is None else (*state.ratios, ratio)
        looked_at_s = seen.ended_at_s - seen.period_s if state.looked_at_s is None else state.looked_at_s
        if seen.ended_at_s < looked_at_s + self.scaling_s - 1e-9 or not ratios:
            return RatioState(ratios, looked_at_s), Hold("between two evaluations")
        mean = sum(ratios) / len(ratios)
        step = max(round(mean), 1) if mean >= self.up else -1 if mean <= self.down else 0
        decision = self.bounds.to(seen, seen.setting.replicas + step, f"processing time over interval {mean:.2f}")
        return RatioState((), seen.ended_at_s), decision
