"""What another policy would have decided in a run that was recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision
from penstock.control.policy import Policy
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.rules.within_limits import WithinLimits
from penstock.control.setting import Grid, Setting


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded step, the setting that followed it, and what the policy would have done."""

    seen: ControlStep
    followed: Setting
    decision: Decision

    @property
    def desired(self) -> Setting:
        return self.decision.setting if isinstance(self.decision, Change) else self.seen.setting

    @property
    def agrees(self) -> bool:
        """Whether the run went on with as many replicas as the policy wanted."""
        return self.desired.replicas == self.followed.replicas


def replay(steps: Iterable[ControlStep], policy: Policy, grid: Grid | None = None) -> list[Replayed]:
    """Each step shown to the policy as it was, whatever the policy had wanted before: nothing is simulated.

    A step that ran with other replicas than the grid has is not stayed at: a run begins within its limits.
    """
    seen = list(steps)
    limits = None if grid is None else WithinLimits(Bounds(grid.replicas[0], grid.replicas[-1]))
    state = policy.start()
    result = []
    for number, step in enumerate(seen):
        state, decision = policy.decide(state, step)
        followed = seen[number + 1].setting if number + 1 < len(seen) else step.setting
        if limits is not None:
            decision = limits(step, decision)
        result.append(Replayed(step, followed, decision))
    return result
