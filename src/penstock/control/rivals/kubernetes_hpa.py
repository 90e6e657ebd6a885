"""The rule of Kubernetes' horizontal pod autoscaler: replicas times measured over wanted utilization."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, Hold
from penstock.control.rules.replica_bounds import FULL_RANGE, Bounds


@dataclass(frozen=True, slots=True)
class HpaState:
    """When it looked last, what it recommended and when (for going down), and when it added how many."""

    looked_at_s: float | None = None
    recommended: tuple[tuple[float, int], ...] = ()
    added: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KubernetesHpa:
    """Every `sync_s`; nothing while the ratio is within `tolerance` of 1.

    Down: to the highest of what was recommended within `stabilisation_s`.  Up: within 15 s at most twice as many, or
    four more, whichever is more.  The utilization is that of CPU, which never exceeds 1 however long the queue.
    """

    target: float = 0.7
    tolerance: float = 0.1
    sync_s: float = 15.0
    stabilisation_s: float = 300.0
    up_period_s: float = 15.0
    up_pods: int = 4
    up_ratio: float = 1.0
    bounds: Bounds = FULL_RANGE
    name: str = "kubernetes hpa"

    def start(self) -> HpaState:
        return HpaState()

    def decide(self, state: HpaState, seen: ControlStep) -> tuple[HpaState, Decision]:
        now_s, at = seen.ended_at_s, seen.setting.replicas
        if state.looked_at_s is not None and now_s < state.looked_at_s + self.sync_s - 1e-9:
            return state, Hold("between two evaluations")
        utilization = min(seen.busy_ratio / max(seen.imbalance, 1.0), 1.0)  # the mean over replicas
        ratio = utilization / self.target
        raw = at if abs(ratio - 1) <= self.tolerance else self.bounds.within(math.ceil(at * ratio - 1e-9))
        recent = [(s, n) for s, n in state.recommended if s > now_s - self.stabilisation_s]
        if state.looked_at_s is None:
            recent = [(now_s, at)]  # what it starts with counts as recommended
        recommended = (*recent, (now_s, raw))
        wanted = raw if raw >= at else min(max(n for _, n in recommended), at)
        added = tuple((s, n) for s, n in state.added if s > now_s - self.up_period_s)
        if wanted > at:
            base = at - sum(n for _, n in added)
            wanted = max(min(wanted, base + max(self.up_pods, math.floor(base * self.up_ratio))), at)
            added = (*added, (now_s, wanted - at))
        state = replace(state, looked_at_s=now_s, recommended=recommended, added=added)
        return state, self.bounds.to(seen, wanted, f"utilization {utilization:.2f}, target {self.target:g}")
