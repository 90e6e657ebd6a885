"""The rules of the application level, in the order in which they come after a policy."""

from __future__ import annotations

from penstock.control.rules.frequency import FREQUENCY
from penstock.control.rules.guard import Guard
from penstock.control.rules.pace import PACE
from penstock.control.rules.paused import PAUSED
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.rules.rule import Rule
from penstock.control.rules.useful_replicas import HighestReplicas
from penstock.control.rules.waiting import WAITING
from penstock.control.rules.within_limits import WithinLimits


def application_rules(
    guard: Guard | None = None, *, bounds: Bounds | None = None, useful: HighestReplicas | None = None
) -> tuple[Rule, ...]:
    """Waiting, pace, frequency, limits, useful replicas, pause, guard; those that are not given are left out.

    >>> [rule.name for rule in application_rules(Guard(), bounds=Bounds(1, 8))]
    ['waiting is not measured', 'micro-batch pace', 'frequency left alone', 'limits', 'paused', 'guard']
    """
    limits = None if bounds is None else WithinLimits(bounds)
    rules: tuple[Rule | None, ...] = (WAITING, PACE, FREQUENCY, limits, useful, PAUSED, guard)
    return tuple(rule for rule in rules if rule is not None)
