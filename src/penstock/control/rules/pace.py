"""The rule of the pace: no larger cap of micro-batches than is worked off in time."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, change_or_hold
from penstock.control.rules.rule import NamedRule


def within_pace(seen: ControlStep, decision: Decision) -> Decision:
    """The decision with no larger cap than is in time now."""
    most = seen.highest_cap_tuples
    if most is None or not isinstance(decision, Change) or decision.setting.micro_batch_tuples <= most:
        return decision
    setting = replace(decision.setting, micro_batch_tuples=most)
    return change_or_hold(seen.setting, setting, decision.because, decision.expected)


PACE = NamedRule("micro-batch pace", within_pace)
