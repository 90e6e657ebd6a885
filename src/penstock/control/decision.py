"""What a policy answers: another setting, or none with the reason; and what it expects of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.control.setting import Setting


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the models say of the next control step under the chosen setting; None where a policy has no such model."""

    rate_tuples_s: float | None = None
    capacity_tuples_s: float | None = None
    latency_mean_s: float | None = None
    backlog_tuples: float | None = None
    watts_estimated: float | None = None
    saturated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """Go to another setting."""

    setting: Setting
    because: str
    expected: Expectation = Expectation()


@dataclass(frozen=True, slots=True)
class Hold:
    """Stay; that, too, has a reason."""

    because: str
    expected: Expectation = Expectation()


Decision = Change | Hold


def change_or_hold(current: Setting, desired: Setting, because: str, expected: Expectation | None = None) -> Decision:
    """A change where there is something to change."""
    expected = expected or Expectation()
    return Hold(because, expected) if desired == current else Change(desired, because, expected)


def at_the_same_frequency(current: Setting, decision: Decision) -> Decision:
    """The decision with cores left alone; what was expected of them at another frequency is left out."""
    if not isinstance(decision, Change) or decision.setting.frequency_ghz == current.frequency_ghz:
        return decision
    setting = replace(decision.setting, frequency_ghz=current.frequency_ghz)
    expected = Expectation(decision.expected.rate_tuples_s, saturated=decision.expected.saturated)
    return change_or_hold(current, setting, decision.because, expected)
