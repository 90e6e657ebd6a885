"""The rule of the limits: replicas within them, whatever a policy wants or leaves as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, Expectation, change_or_hold
from penstock.control.rules.replica_bounds import Bounds


@dataclass(frozen=True, slots=True)
class WithinLimits:
    """No more and no fewer replicas than the limits have.

    A hold stays at what was requested last: in force, or on its way.  What was expected of other replicas is left out.

    >>> from penstock.control.decision import Hold
    >>> from penstock.control.setting import Setting
    >>> seen = ControlStep(1, 1.0, 1.0, Setting(2), 0.0, 0.0, 0.0, 0.0)
    >>> WithinLimits(Bounds(3, 8))(seen, Hold("enough")).because
    '2 replicas are outside the limits, 3 to 8; enough'
    """

    bounds: Bounds
    name: str = "limits"

    def __call__(self, seen: ControlStep, decision: Decision) -> Decision:
        wanted = decision.setting if isinstance(decision, Change) else (seen.requested or seen.setting)
        replicas = self.bounds.within(wanted.replicas)
        if replicas == wanted.replicas:
            return decision
        many = "replica is" if wanted.replicas == 1 else "replicas are"
        limits = f"{self.bounds.lowest} to {self.bounds.highest}"
        because = f"{wanted.replicas} {many} outside the limits, {limits}; {decision.because}"
        expected = Expectation(decision.expected.rate_tuples_s, saturated=decision.expected.saturated)
        return change_or_hold(seen.setting, replace(wanted, replicas=replicas), because, expected)
