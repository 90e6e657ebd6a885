"""`python -m benchmarks control`: what measuring and control cost of all CPU when there is nothing to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.report import Show, table_of
from benchmarks.spark.applications import vwap_on
from benchmarks.spark.watching import watch_for
from penstock import sinks, sources
from penstock.control.goals.goal import latency
from penstock.measure.observation import CpuObservation
from penstock.spark.driver.capacity import LOCAL_TASK_SLOTS, capacity_of
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start
from penstock.testing import local_session

GOAL_RATIO = 0.01


@dataclass(frozen=True, slots=True)
class ControlEffort:
    """How long it warms up, how long it is measured, and the steady rate meanwhile."""

    warm_s: float = 30.0
    seconds: float = 90.0
    rate_tuples_s: float = 1_000_000.0


QUICK = ControlEffort(warm_s=10.0, seconds=20.0)


@dataclass(frozen=True, slots=True)
class ControlCost:
    """CPU seconds of a steady stretch; machinery is all measuring and control, control a part of it.

    `task_slots`: so many replicas may be chosen from.
    """

    total_s: float
    machinery_s: float
    control_s: float
    wall_s: float
    micro_batches: int
    steps: int
    changes: int
    task_slots: int = 0

    @property
    def machinery_ratio(self) -> float:
        return self.machinery_s / self.total_s if self.total_s > 0 else 0.0

    @property
    def control_ratio(self) -> float:
        return self.control_s / self.total_s if self.total_s > 0 else 0.0


def run_control(effort: ControlEffort, folder: Path, show: Show) -> ControlCost:
    """A steady stream under a goal that is easily kept, with the settings to choose from that `penstock run` has."""
    app = vwap_on(sources.trace("constant", effort.rate_tuples_s), sinks.discard())
    with local_session(task_slots=LOCAL_TASK_SLOTS) as session:
        handle = start(app, session=session, checkpoint=folder / "checkpoint", goal=latency(p95_ms=60_000))
        try:
            watch_for(handle, effort.warm_s, show, "warming up")
            return replace(_measured(handle, effort, show), task_slots=capacity_of(session).task_slots)
        finally:
            handle.stop()


def _measured(handle: Handle, effort: ControlEffort, show: Show) -> ControlCost:
    controller = handle.controller
    assert controller is not None
    before_s, steps = controller.cpu_s, len(controller.decisions)
    observed = watch_for(handle, effort.seconds, show, "measuring")
    cpu: list[CpuObservation] = [o.cpu for o in observed if o.cpu is not None]
    made = list(controller.decisions)[steps:]
    return ControlCost(
        sum(own.total_s for own in cpu),
        sum(own.measuring_s for own in cpu),
        controller.cpu_s - before_s,
        observed[-1].started_at_s + observed[-1].micro_batch_s - observed[0].started_at_s,
        len(observed),
        len(made),
        sum(decision.requested for decision in made),
    )


def control_figures(cost: ControlCost, effort: ControlEffort) -> dict[str, Any]:
    return {
        "bench": "control",
        "machinery_ratio": round(cost.machinery_ratio, 5),
        "control_ratio": round(cost.control_ratio, 5),
        "control_ms_per_step": round(1000 * cost.control_s / cost.steps, 3) if cost.steps else None,
        "steps": cost.steps,
        "changes": cost.changes,
        "micro_batches": cost.micro_batches,
        "rate_tuples_s": effort.rate_tuples_s,
        "task_slots": cost.task_slots,
    }


def control_tables(cost: ControlCost) -> list[Table]:
    table = table_of("CPU of a steady stretch", "part", "seconds", "of all")
    for name, seconds in (("all", cost.total_s), ("machinery", cost.machinery_s), ("of that control", cost.control_s)):
        table.add_row(name, f"{seconds:.3f}", f"{seconds / max(cost.total_s, 1e-9):.3%}")
    return [table]


def control_notes(cost: ControlCost) -> list[str]:
    reached = "reached" if cost.machinery_ratio <= GOAL_RATIO else "missed"
    return [
        f"{cost.steps} control steps, {cost.changes} changes, {cost.micro_batches} micro-batches in "
        f"{cost.wall_s:.0f} s; goal {GOAL_RATIO:.0%} for the machinery: {reached}"
    ]
