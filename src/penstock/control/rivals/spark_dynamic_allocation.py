"""Spark's dynamic allocation: executors for tasks that wait, given back when they were idle for long."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, Hold
from penstock.control.rules.replica_bounds import FULL_RANGE, Bounds


@dataclass(frozen=True, slots=True)
class AllocationState:
    """Since when tasks wait, how many to ask for next, and since when nothing runs."""

    waiting_since_s: float | None = None
    asked_at_s: float = 0.0
    next_step: int = 1
    idle_since_s: float | None = None


@dataclass(frozen=True, slots=True)
class SparkDynamicAllocation:
    """Made for batch jobs: `tasks` of each micro-batch, whatever its size, wait while executors are fewer.

    Tasks that waited for `backlog_s` ask for 1, 2, 4, ... executors more, every `sustained_s`.  An executor goes when
    it had no task for `idle_s`, which a stream whose every micro-batch has tasks for all of them never grants.
    """

    tasks: int = 12
    backlog_s: float = 1.0
    sustained_s: float = 1.0
    idle_s: float = 60.0
    bounds: Bounds = FULL_RANGE
    name: str = "spark dynamic allocation"

    def start(self) -> AllocationState:
        return AllocationState()

    def decide(self, state: AllocationState, seen: ControlStep) -> tuple[AllocationState, Decision]:
        if seen.served_tuples <= 0 and seen.backlog_tuples <= 0:
            return self._idle(state, seen)
        state = replace(state, idle_since_s=None)
        waits = self.tasks > seen.setting.replicas and (seen.micro_batch_s or 0.0) > self.backlog_s
        if not waits:
            return replace(state, waiting_since_s=None, next_step=1), Hold("no task waits long enough")
        if state.waiting_since_s is not None and seen.ended_at_s < state.asked_at_s + self.sustained_s - 1e-9:
            return state, Hold("executors were requested a moment ago")
        wanted = min(seen.setting.replicas + state.next_step, self.tasks)
        since_s = state.waiting_since_s if state.waiting_since_s is not None else seen.ended_at_s
        grows = self.bounds.within(wanted) > seen.setting.replicas
        more = 2 * state.next_step if grows else 1
        asked = replace(state, waiting_since_s=since_s, asked_at_s=seen.ended_at_s, next_step=more)
        return asked, self.bounds.to(seen, wanted, f"{self.tasks - seen.setting.replicas} tasks wait")

    def _idle(self, state: AllocationState, seen: ControlStep) -> tuple[AllocationState, Decision]:
        since_s = state.idle_since_s if state.idle_since_s is not None else seen.ended_at_s - seen.period_s
        state = replace(state, idle_since_s=since_s, waiting_since_s=None, next_step=1)
        if seen.ended_at_s - since_s < self.idle_s - 1e-9:
            return state, Hold("idle, but not for long enough")
        return state, self.bounds.to(seen, self.bounds.lowest, f"idle for {seen.ended_at_s - since_s:.0f} s")
