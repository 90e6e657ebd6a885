"""What all rivals share: the range of replicas, a change within it, and time constants that follow a speed-up."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, change_or_hold

P = TypeVar("P")


@dataclasses.dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most replicas."""

    lowest: int = 1
    highest: int = 12

    def within(self, replicas: int) -> int:
        return min(max(replicas, self.lowest), self.highest)

    def to(self, seen: ControlStep, replicas: int, because: str) -> Decision:
        """A change to so many replicas, as far as the range allows."""
        return change_or_hold(seen.setting, dataclasses.replace(seen.setting, replicas=self.within(replicas)), because)


FULL_RANGE = Bounds()


def sped_up(policy: P, speed_up: float) -> P:
    """The policy for a trace that is replayed so many times as fast: every time constant (`..._s`) divided by it."""
    constants: dict[str, Any] = {
        field.name: getattr(policy, field.name) / speed_up
        for field in dataclasses.fields(policy)  # type: ignore[arg-type]
        if field.name.endswith("_s")
    }
    return dataclasses.replace(policy, **constants)  # type: ignore[type-var]
