"""The rule of useful replicas: as many as the cores where an element computes, more where it waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.decision import Change, Decision, change_or_hold

_PACE = 0.3
_COMPUTES = 0.5  # of an element's time, and it counts as computing all the time


@dataclass(frozen=True, slots=True)
class CpuShares:
    """The share of its time in which each element computes, smoothed; time in line for a core does not count."""

    by_element: Mapping[str, float] = field(default_factory=dict)

    def learn(self, elements: tuple[ElementLoad, ...]) -> CpuShares:
        shares = dict(self.by_element)
        for element in elements:
            if element.busy_s > 0 and element.cpu_s > 0:
                share = min(element.cpu_s / max(element.busy_s - element.stalled_s, element.cpu_s), 1.0)
                known = shares.get(element.name, share)
                shares[element.name] = known + _PACE * (share - known)
        return CpuShares(shares)


@dataclass(frozen=True, slots=True)
class HighestReplicas:
    """`cores` compute at once, `task_slots` wait or compute; elements in `single` have one replica, whatever they do.

    The others may have `lowest` replicas in any case: that many the user wants.

    >>> rule = HighestReplicas(cores=2, task_slots=16)
    >>> [rule.of("service", {"service": share}) for share in (0.9, 0.2, 0.01)]
    [2, 10, 16]
    """

    cores: int
    task_slots: int
    single: frozenset[str] = frozenset()
    lowest: int = 1
    name: str = "useful replicas"

    def of(self, element: str, share_by_element: Mapping[str, float]) -> int:
        """The most replicas of an element that computes in such a share of its time."""
        if element in self.single:
            return 1
        share = share_by_element.get(element, 1.0)
        helpful = self.cores if share >= _COMPUTES else max(int(self.cores / share), self.cores)
        return max(min(helpful, self.task_slots), self.lowest)

    def by_element(self, seen: ControlStep) -> dict[str, int]:
        return {element.name: self.of(element.name, seen.cpu_share_by_element) for element in seen.elements}

    def __call__(self, seen: ControlStep, decision: Decision) -> Decision:
        """The decision with no more replicas than the busiest element can use; what is there already may stay."""
        highest = self.of_busiest(seen)
        if not isinstance(decision, Change) or decision.setting.replicas <= highest:
            return decision
        allowed = max(highest, min(decision.setting.replicas, seen.setting.replicas))
        because = f"{decision.setting.replicas} replicas wanted, but {self._reason(highest)}; {decision.because}"
        return change_or_hold(seen.setting, replace(decision.setting, replicas=allowed), because, decision.expected)

    def of_busiest(self, seen: ControlStep) -> int:
        """As many as the busiest element that may have several can use."""
        free = [e for e in seen.elements if e.name not in self.single]
        if not free:
            return 1 if seen.elements else self.task_slots
        return self.of(max(free, key=lambda e: e.busy_s / e.replicas).name, seen.cpu_share_by_element)

    def _reason(self, highest: int) -> str:
        if highest >= self.task_slots:
            return f"there are {highest} task slots"
        if highest == 1 and self.cores > 1:
            return "no element can have a second one"
        if highest == self.lowest > self.cores:
            return (
                f"{highest} are the fewest of the limits, "
                f"more than an element that computes can use on {self.cores} cores"
            )
        return f"an element that computes can use {highest} on {self.cores} cores"
