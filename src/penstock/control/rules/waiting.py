"""The rule of unmeasured waiting: no smaller cap while that would only hide how long tuples wait."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, change_or_hold
from penstock.control.rules.rule import NamedRule


def unshrunk_cap(seen: ControlStep, decision: Decision) -> Decision:
    """The decision with the cap there is, where it asks for a smaller one and the step forbids that."""
    least = seen.setting.micro_batch_tuples
    if seen.cap_may_shrink or not isinstance(decision, Change) or decision.setting.micro_batch_tuples >= least:
        return decision
    setting = replace(decision.setting, micro_batch_tuples=least)
    return change_or_hold(seen.setting, setting, decision.because, decision.expected)


WAITING = NamedRule("waiting is not measured", unshrunk_cap)
