"""The sentence on top of a page: whether the goal is met, with what, what is in the way, and what may come next."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.control.goals.goal import Goal
from penstock.control.journal.recorded_decision import RecordedDecision
from penstock.watch.element_rows import element_rows
from penstock.watch.figures import count_text, time_text
from penstock.watch.recorded.run_state import RunState
from penstock.watch.timeline import committed_at_s

STATUS_WORDS = {
    "finished": "Finished: every source is exhausted.",
    "stopped": "Stopped.",
    "failed": "Failed.",
    "interrupted": "Interrupted: the driver has gone without an end.",
}
_SILENT_S = 10.0  # without a micro-batch, and the sentence says so


@dataclass(frozen=True, slots=True)
class RunSentence:
    """`tone` is 'good', 'warn' or 'bad'."""

    text: str
    tone: str


def goal_text(goal: Goal | None) -> str:
    """
    >>> from penstock.control.goals.goal import latency, throughput
    >>> goal_text(latency(p95_ms=500)), goal_text(throughput())
    ('p95 <= 500 ms', 'throughput >= 95% of arrivals')
    """
    if goal is None:
        return ""
    bounds = [("p95", goal.p95_s), ("mean latency", goal.mean_s)]
    found = [f"{name} <= {bound_s * 1000:g} ms" for name, bound_s in bounds if bound_s is not None]
    return " and ".join(found) or f"throughput >= {goal.served_ratio:.0%} of arrivals"


def sentence_of(state: RunState, status: str, now_s: float) -> RunSentence:
    """Of a run that goes on, what its newest control step says; of one that ended, what it was like as a whole."""
    if status in STATUS_WORDS:
        return _ended(state, status)
    if state.newest is None:
        return RunSentence("Waiting for the first micro-batch.", "warn")
    silent_s = now_s - committed_at_s(state.newest)
    meeting, tone = _meeting(state)
    bottleneck = bottleneck_of(state)
    parts = [meeting, f"Bottleneck: {bottleneck}." if bottleneck else "", _next_change(state, now_s)]
    if silent_s >= _SILENT_S:
        parts, tone = [meeting, f"No micro-batch for {_about(silent_s)}."], "warn" if tone == "good" else tone
    return RunSentence(" ".join(part for part in parts if part), tone)


def bottleneck_of(state: RunState) -> str | None:
    """The element whose replicas are busiest."""
    rows = element_rows(list(state.recent))
    return max(rows, key=lambda row: row.busy_ratio).name if rows else None


def _meeting(state: RunState) -> tuple[str, str]:
    newest, goal = state.newest, goal_text(state.goal)
    assert newest is not None
    with_cores = _cores_text(state)
    if not goal:
        return f"Serving {count_text(newest.rate_tuples_s)} tuples/s{with_cores}.", "good"
    if not state.decisions:
        return f"Serving {count_text(newest.rate_tuples_s)} tuples/s{with_cores}; the goal is {goal}.", "warn"
    decision = state.decisions[-1].decision
    if decision.broken:
        return f"Missing {goal}{with_cores}.", "bad"
    if not decision.measured:
        return f"Whether {goal} is met is not measured{with_cores}.", "warn"
    return f"Meeting {goal}{with_cores}.", "warn" if state.paused or state.passive else "good"


def _cores_text(state: RunState) -> str:
    configuration, cores = state.configuration, state.start.cores
    if configuration is None:
        return ""
    replicas = max((element.replicas for element in configuration.elements), default=1)
    if cores is None:
        return f" with {replicas} replica{'s' * (replicas != 1)}"
    return f" with {min(replicas, cores)} of {cores} cores"


def _next_change(state: RunState, now_s: float) -> str:
    if state.goal is None:
        return ""
    if state.paused:
        return "Tuning is paused."
    if state.passive:
        return "Passive: nothing is changed."
    if not state.decisions:
        return "No control step yet."
    last = state.decisions[-1]
    if last.decision.broken and last.is_hold and (reason := _nothing_left(state, last.decision)):
        return reason
    left_s = max((last.decision.until_s or 0.0) - max(now_s - last.at_s, 0.0), 0.0)
    return f"Next change possible in {max(math.ceil(left_s), 1)} s."


def _nothing_left(state: RunState, decision: RecordedDecision) -> str:
    """Why no more replicas come although the goal is missed; empty where more may."""
    replicas, most, useful = decision.setting.replicas, state.limits.max_replicas, decision.highest_useful_replicas
    if most is not None and replicas >= most:
        return f"More than {most} replica{'s are' if most != 1 else ' is'} not allowed."
    if useful is not None and replicas >= useful:
        return f"More than {useful} replica{'s' * (useful != 1)} would not help."
    return ""


def _ended(state: RunState, status: str) -> RunSentence:
    words, total, goal = STATUS_WORDS[status], state.series.total(), goal_text(state.goal)
    is_bad = status in ("failed", "interrupted")
    if total is None or not total.batches:
        return RunSentence(f"{words} No micro-batch was finished.", "bad" if is_bad else "warn")
    if not goal or not total.steps:
        served = f"Took {count_text(total.tuples_in)} tuples in {time_text(total.run_s or total.span_s)}."
        return RunSentence(f"{words} {served}", "bad" if is_bad else "good")
    met, steps = total.steps - total.broken_steps, total.steps
    how_often = f"all {steps:,}" if met == steps else f"{met:,} of {steps:,}"
    bottleneck = bottleneck_of(state)
    text = f"{words} Met {goal} in {how_often} control step{'s' * (steps != 1)}."
    text += f" Bottleneck: {bottleneck}." if bottleneck else ""
    return RunSentence(text, "bad" if is_bad else "good" if met == steps else "warn")


def _about(seconds: float) -> str:
    """In steps of ten seconds, and of minutes: the page is not sent anew each second.

    >>> _about(34.9), _about(200.0), _about(9000.0)
    ('30 s', '3 min', '150 min')
    """
    return f"{int(seconds // 10) * 10} s" if seconds < 120 else f"{int(seconds // 60)} min"
