"""What a policy answers: another setting, or none with the reason; and what it expects of it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.setting import Setting
from penstock.measure.html_table import html_table, rounded


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the models say of the next control step under the chosen setting; None where a policy has no such model.

    >>> Expectation(rate_tuples_s=900.0).latency_mean_s is None
    True
    """

    rate_tuples_s: float | None = None
    capacity_tuples_s: float | None = None
    latency_mean_s: float | None = None
    backlog_tuples: float | None = None
    watts_estimated: float | None = None
    saturated: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, str | None]]:
        """What is expected, for a table; None where a policy has no model of it."""
        return [
            ("expected rate", rounded(self.rate_tuples_s, "tuples/s")),
            ("expected capacity", rounded(self.capacity_tuples_s, "tuples/s")),
            ("expected mean latency", rounded(self.latency_mean_s, "s")),
            ("expected backlog", rounded(self.backlog_tuples, "tuples")),
        ]


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another setting that was priced: what going there and staying would cost, over what the chosen one would."""

    setting: Setting
    cost_ratio: float


@dataclass(frozen=True, slots=True)
class Change:
    """Go to another setting; `alternatives` are of policies that price settings.

    >>> Change(Setting(3), "demand").setting.replicas
    3
    """

    setting: Setting
    because: str
    expected: Expectation = Expectation()
    alternatives: tuple[Alternative, ...] = ()

    def _repr_html_(self) -> str:
        return html_table("change", [("to", self.setting), ("because", self.because), *self.expected.rows()])


@dataclass(frozen=True, slots=True)
class Hold:
    """Stay; that, too, has a reason.  `until_s`: for so many seconds more, where that is known."""

    because: str
    expected: Expectation = Expectation()
    alternatives: tuple[Alternative, ...] = ()
    until_s: float | None = None

    def _repr_html_(self) -> str:
        until = None if self.until_s is None else f"{self.until_s:g} s more"
        return html_table("hold", [("because", self.because), ("for at most", until), *self.expected.rows()])


Decision = Change | Hold


def change_or_hold(current: Setting, desired: Setting, because: str, expected: Expectation | None = None) -> Decision:
    """A change where there is something to change."""
    expected = expected or Expectation()
    return Hold(because, expected) if desired == current else Change(desired, because, expected)
