"""The cap of micro-batches: small enough that none holds up decisions for long, whatever a tuple costs.

A micro-batch is a barrier.  One that took a long backlog at once would run for minutes with the Configuration it began
with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, change_or_hold

LONGEST_WORK_S = 2.0
_RATIO = 4
_LEAST_TUPLES, _FIRST_TUPLES = 256, 16_384
_FULL = 0.8


def cap_ladder(highest_tuples: int) -> tuple[int, ...]:
    """The caps to choose from, ascending to the highest.

    >>> cap_ladder(20_000)
    (312, 1250, 5000, 20000)
    """
    caps = [highest_tuples]
    while caps[0] // _RATIO >= _LEAST_TUPLES:
        caps.insert(0, caps[0] // _RATIO)
    return tuple(caps)


@dataclass(frozen=True, slots=True)
class CapPace:
    """The largest cap whose work is done in time, as far as was seen."""

    ladder: tuple[int, ...]
    place: int

    @property
    def cap_tuples(self) -> int:
        return self.ladder[self.place]

    def is_full(self, tuples: int) -> bool:
        """Whether a micro-batch of so many tuples may be a reason to take more, if there is a higher cap."""
        return tuples >= _FULL * self.cap_tuples and self.place + 1 < len(self.ladder)

    def after(self, tuples: int, work_s: float) -> CapPace:
        """After a micro-batch, whose busiest replicas worked so long: up where it was full and short, down if long."""
        if tuples <= 0:
            return self
        if work_s > LONGEST_WORK_S:
            fits = [i for i, cap in enumerate(self.ladder) if cap * work_s / tuples <= LONGEST_WORK_S]
            return replace(self, place=min(max(fits, default=0), self.place))
        if self.is_full(tuples):
            return replace(self, place=self.place + (_RATIO * work_s <= LONGEST_WORK_S))
        return self


def first_pace(highest_tuples: int) -> CapPace:
    """Begins low: what a tuple costs is not known yet."""
    ladder = cap_ladder(highest_tuples)
    return CapPace(ladder, max((i for i, cap in enumerate(ladder) if cap <= _FIRST_TUPLES), default=0))


def within_pace(decision: Decision, seen: ControlStep) -> Decision:
    """The decision with no larger cap than is in time now."""
    most = seen.highest_cap_tuples
    if most is None or not isinstance(decision, Change) or decision.setting.micro_batch_tuples <= most:
        return decision
    setting = replace(decision.setting, micro_batch_tuples=most)
    return change_or_hold(seen.setting, setting, decision.because, decision.expected)
