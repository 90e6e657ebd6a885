"""What another policy would have decided in a run that was recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision
from penstock.control.policy import Policy
from penstock.control.setting import Setting


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


def replay(steps: Iterable[ControlStep], policy: Policy) -> list[Replayed]:
    """Each step shown to the policy as it was, whatever the policy had wanted before: nothing is simulated."""
    seen = list(steps)
    state = policy.start()
    result = []
    for number, step in enumerate(seen):
        state, decision = policy.decide(state, step)
        followed = seen[number + 1].setting if number + 1 < len(seen) else step.setting
        result.append(Replayed(step, followed, decision))
    return result
