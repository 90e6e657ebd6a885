"""A decision as the journal keeps it: what was seen, wanted, refused and asked for, and what is expected of it.

What a step has seen is the outcome of the decision before it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.control.control_step import ControlStep
from penstock.control.decision import Alternative, Change, Expectation, Hold
from penstock.control.goals.goal import Goal
from penstock.control.goals.goal_check import breaks, breaks_p95_apart, is_measured
from penstock.control.journal.journal import RecordedRun
from penstock.control.journal.plain_values import from_plain
from penstock.control.loop.loop import Record
from penstock.control.routes.hot_keys import heaviest_slot
from penstock.control.setting import Setting
from penstock.errors import InputError
from penstock.measure.html_table import html_table
from penstock.model.power import PowerModel

MOST_ALTERNATIVES = 3


@dataclass(frozen=True, slots=True)
class StepFigures:
    """A control step in short; `watts` are measured, else there is what the model says of its setting."""

    rate_tuples_s: float = 0.0
    served_tuples_s: float = 0.0
    backlog_tuples: float = 0.0
    busy_ratio: float = 0.0
    latency_mean_s: float | None = None
    latency_p95_s: float | None = None
    joules: float | None = None
    watts: float | None = None
    watts_estimated: float | None = None


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """One control step's; `wanted` is the policy's, `decided` what the guard let through, both the setting it has if it
    stays.  `requested`: whether a Configuration was asked for; never in passive mode.  `measured`: whether it can be
    told that the goal was kept, where it is not `broken`.  `rules`: those that made something else of what was wanted.
    `until_s`: how long a hold lasts at most, where that is known.  `alternatives`: other settings, with what they would
    cost over what the wanted one would; up to three, of policies that price settings.
    """

    step: int
    policy: str
    setting: Setting
    wanted: Setting
    decided: Setting
    because: str
    seen: StepFigures = field(default_factory=StepFigures)
    expected: Expectation = field(default_factory=Expectation)
    broken: bool = False
    broken_p95: bool | None = None  # of the 95th percentile, where the goal bounds that besides the mean
    requested: bool = False
    passive: bool = False
    moved_slots: int = 0
    highest_useful_replicas: int | None = None
    measured: bool = True
    rules: tuple[str, ...] = ()
    until_s: float | None = None
    alternatives: tuple[Alternative, ...] = ()

    @property
    def text(self) -> str:
        """`step 42: 2 -> 3 replicas; ...`, for a log or a console."""
        if self.decided == self.setting:
            moved = f"; {self.moved_slots} slots move" if self.moved_slots else ""
            return f"step {self.step}: stays at {self.setting}{moved}; {self.because}"
        verb = "would go" if self.passive else "goes"
        return f"step {self.step}: {verb} from {self.setting} to {self.decided}; {self.because}"

    def _repr_html_(self) -> str:
        """What notebooks show: the decision, its reason, what was expected, and the rules that changed it."""
        decided = "stays" if self.decided == self.setting else self.decided
        return html_table(
            f"step {self.step}: {self.policy}" + (" (passive)" if self.passive else ""),
            [
                ("setting", self.setting),
                ("decision", decided),
                ("because", self.because),
                ("goal", "broken" if self.broken else "met" if self.measured else None),
                *self.expected.rows(),
                ("changed by rules", ", ".join(self.rules) or None),
            ],
        )


def recorded(record: Record, policy: str, goal: Goal, *, passive: bool) -> RecordedDecision:
    """A turn of the loop for the journal."""
    seen = record.seen
    hot = heaviest_slot(seen.load_by_slot, seen.period_s, seen.split_slots)
    return RecordedDecision(
        seen.step,
        policy,
        seen.setting,
        record.wanted.setting if isinstance(record.wanted, Change) else seen.setting,
        record.decided.setting if isinstance(record.decided, Change) else seen.setting,
        record.decided.because,
        figures_of(seen),
        record.decided.expected,
        broken=breaks(goal, seen),
        broken_p95=breaks_p95_apart(goal, seen),
        requested=record.requested is not None or record.moved_slots > 0,
        passive=passive,
        moved_slots=record.moved_slots,
        highest_useful_replicas=None if hot is None else hot.highest_useful_replicas,
        measured=is_measured(goal, seen),
        rules=record.rules,
        until_s=record.decided.until_s if isinstance(record.decided, Hold) else None,
        alternatives=record.wanted.alternatives[:MOST_ALTERNATIVES],
    )


def figures_of(seen: ControlStep) -> StepFigures:
    """Cores whose frequency is left alone are taken to be at the highest of the model."""
    watts = None if seen.joules is None or seen.period_s <= 0 else seen.joules / seen.period_s
    power = PowerModel()
    ghz = seen.setting.frequency_ghz or power.voltages.frequencies_ghz[-1]
    return StepFigures(
        seen.rate_tuples_s, seen.served_tuples_s, seen.backlog_tuples, seen.busy_ratio, seen.latency_mean_s,
        seen.latency_p95_s,
        joules=seen.joules,
        watts=watts,
        watts_estimated=power.watts(seen.setting.replicas, ghz) if watts is None else None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """A decision of a recorded run and what came of it; None for the last one."""

    decision: RecordedDecision
    outcome: StepFigures | None


def judged_decisions(run: RecordedRun) -> tuple[Judged, ...]:
    """All decisions of a run with their outcomes; one run may have been started several times."""
    found: Sequence[RecordedDecision] = [
        _decision(line.decision, line.observation.batch) for line in run.lines if line.decision is not None
    ]
    return tuple(
        Judged(own, later.seen if later is not None and later.step > own.step else None)
        for own, later in itertools.zip_longest(found, found[1:])
    )


def _decision(body: Mapping[str, Any], batch: int) -> RecordedDecision:
    try:
        return from_plain(RecordedDecision, body)
    except (TypeError, ValueError) as error:
        raise InputError(f"the journal's decision after micro-batch {batch} cannot be read: {error}") from error
