"""The rule of paused tuning: everything stays as it is."""

from __future__ import annotations

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, Hold
from penstock.control.rules.rule import NamedRule


def hold_while_paused(seen: ControlStep, decision: Decision) -> Decision:
    """A hold while a user has paused tuning; the policy learns on."""
    return Hold("tuning is paused", decision.expected) if seen.paused else decision


PAUSED = NamedRule("paused", hold_while_paused)
