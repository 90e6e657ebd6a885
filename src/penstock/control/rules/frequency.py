"""The rule of fixed frequencies: cores are left alone where nobody may set them, or nothing can."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, Expectation, change_or_hold
from penstock.control.rules.rule import NamedRule


def at_fixed_frequency(seen: ControlStep, decision: Decision) -> Decision:
    """The decision with cores left alone; what was expected of them at another frequency is left out."""
    current = seen.setting
    if not seen.frequency_fixed or not isinstance(decision, Change):
        return decision
    if decision.setting.frequency_ghz == current.frequency_ghz:
        return decision
    setting = replace(decision.setting, frequency_ghz=current.frequency_ghz)
    expected = Expectation(decision.expected.rate_tuples_s, saturated=decision.expected.saturated)
    return change_or_hold(current, setting, decision.because, expected)


FREQUENCY = NamedRule("frequency left alone", at_fixed_frequency)
