"""Whether a run kept its latency goal, over all of its results; what it was behind with at first is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.control.goals.goal import Goal
from penstock.measure.observation import Observation, latency_over
from penstock.watch.figures import time_text
from penstock.watch.timeline import committed_at_s

WITHOUT_WAITING = "latency counts from when tuples were taken, as a source does not tell how many wait"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Latency over all results against its bound, and over those behind the catch-up; None where there are none.

    `excludes_waiting`: a source does not tell what waits, so that latency counts from when tuples were taken.
    The catch-up: the first micro-batches of a run, after a start or an outage, until the first one within the bound.
    """

    name: str
    bound_s: float
    latency_s: float
    catch_up_batches: int = 0
    catch_up_s: float = 0.0
    later_s: float | None = None
    excludes_waiting: bool = False

    @property
    def is_met(self) -> bool:
        return self.latency_s <= self.bound_s

    @property
    def text(self) -> str:
        text = f"goal {self.name} {time_text(self.bound_s)}: {'met' if self.is_met else 'missed'}, "
        text += f"{time_text(self.latency_s)} over the run"
        if self.catch_up_batches:
            batches = f"{self.catch_up_batches} micro-batch{'es' * (self.catch_up_batches != 1)}"
            text += f"; catching up took the first {time_text(self.catch_up_s)} ({batches})"
            text += "" if self.later_s is None else f", {time_text(self.later_s)} after it"
        return text + ("; " + WITHOUT_WAITING if self.excludes_waiting else "")


def verdict_of(observations: Sequence[Observation], goal: Goal | None) -> Verdict | None:
    """The verdict on a latency goal; None without one, and where no latency was measured."""
    if goal is None or (goal.p95_s is None and goal.mean_s is None):
        return None
    name, bound_s = ("p95", goal.p95_s) if goal.p95_s is not None else ("mean", goal.mean_s)
    assert bound_s is not None
    whole_s = _latency_s(observations, name)
    if whole_s is None:
        return None
    behind = _behind(observations, name, bound_s)
    spent_s = committed_at_s(observations[behind - 1]) - observations[0].started_at_s if behind else 0.0
    later_s = _latency_s(observations[behind:], name) if behind else None
    excludes = any(seen.latency_excludes_waiting for seen in observations)
    return Verdict(name, bound_s, whole_s, behind, spent_s, later_s, excludes)


def _behind(observations: Sequence[Observation], name: str, bound_s: float) -> int:
    """How many micro-batches came before the first whose results were in time."""
    for place, observation in enumerate(observations):
        own_s = _latency_s([observation], name)
        if own_s is not None and own_s <= bound_s:
            return place
    return len(observations)


def _latency_s(observations: Sequence[Observation], name: str) -> float | None:
    latency = latency_over(observations)
    if latency is None:
        return None
    ms = latency.p95_ms if name == "p95" else latency.mean_ms
    return None if ms is None else ms / 1000
