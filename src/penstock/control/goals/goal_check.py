"""Whether a control step kept its goal."""

from __future__ import annotations

from penstock.control.control_step import ControlStep
from penstock.control.goals.goal import Goal


def breaks(goal: Goal, seen: ControlStep) -> bool:
    """A violation: too few results for the triggering tuples, or for a latency goal a mean above the threshold."""
    if goal.mean_s is None and goal.p95_s is None:
        return falls_behind(goal, seen)
    return breaks_mean(goal, seen) if goal.mean_s is not None else breaks_p95(goal, seen)


def is_measured(goal: Goal, seen: ControlStep) -> bool:
    """Whether it is known that a step met its goal; a broken goal is always known."""
    return seen.measured if goal.mean_s is None and goal.p95_s is None else seen.timed


def falls_behind(goal: Goal, seen: ControlStep) -> bool:
    """Results / triggering tuples below the share asked for, tuples of the last `due_s` not counted as missing.

    A micro-batch collects tuples for a while by design: until they are due, they are under way and not behind.
    """
    late = seen.backlog_tuples - seen.rate_tuples_s * goal.due_s
    missing = late > (1 - goal.served_ratio) * seen.arrived_tuples
    return missing and seen.served_ratio < goal.served_ratio


def breaks_mean(goal: Goal, seen: ControlStep) -> bool:
    """The paper's: mean latency above the threshold; no result at all while tuples wait is above any."""
    if goal.mean_s is None:
        return False
    if seen.latency_mean_s is None:
        return seen.timed and seen.backlog_tuples > 0
    return seen.latency_mean_s > goal.mean_s


def breaks_p95(goal: Goal, seen: ControlStep) -> bool:
    """The user's: the 95th percentile above the goal."""
    if goal.p95_s is None:
        return False
    if seen.latency_p95_s is None:
        return seen.timed and seen.backlog_tuples > 0
    return seen.latency_p95_s > goal.p95_s


def breaks_p95_apart(goal: Goal, seen: ControlStep) -> bool | None:
    """`breaks_p95` where the goal bounds the mean as well, which alone makes a violation then; else None."""
    return breaks_p95(goal, seen) if goal.mean_s is not None and goal.p95_s is not None else None
