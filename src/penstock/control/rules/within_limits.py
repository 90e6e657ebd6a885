"""Decisions that keep to the limits of replicas, whatever a policy wants or leaves as it is."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.decision import Change, Decision, Expectation, change_or_hold
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.setting import Setting


def within_limits(bounds: Bounds, decision: Decision, current: Setting, asked: Setting) -> Decision:
    """The decision with no more and no fewer replicas than the limits have.

    `asked` is what holding on stays at: in force, or on its way.  What was expected of other replicas is left out.

    >>> from penstock.control.decision import Hold
    >>> within_limits(Bounds(3, 8), Hold("enough"), Setting(2), Setting(2)).because
    '2 replicas are outside the limits, 3 to 8; enough'
    """
    wanted = decision.setting if isinstance(decision, Change) else asked
    replicas = bounds.within(wanted.replicas)
    if replicas == wanted.replicas:
        return decision
    many = "replica is" if wanted.replicas == 1 else "replicas are"
    because = f"{wanted.replicas} {many} outside the limits, {bounds.lowest} to {bounds.highest}; {decision.because}"
    expected = Expectation(decision.expected.rate_tuples_s, saturated=decision.expected.saturated)
    return change_or_hold(current, replace(wanted, replicas=replicas), because, expected)
