"""The controller in closed loop, live and on the twin: how often both have the same replicas.

Chance decides some steps: another seed of the twin has other replicas in them, as another live run has.  What the twin
predicts is therefore the median of several runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from statistics import mean, median_low
from typing import Any

import numpy as np

from benchmarks.saso.live.run import LEAD_S, as_a_user_gets_it, run_controlled, since
from benchmarks.saso.loads import Load
from benchmarks.twin.predictions import arriving, fitted_plant
from benchmarks.twin.scenes import CORES, Scene
from benchmarks.twin.step_fields import StepField, played, step_fields
from penstock import twin
from penstock.connectors.trace.arrivals import counted_arrivals
from penstock.control.goals.goal import throughput
from penstock.control.goals.limits import Limits
from penstock.control.loop.loop import Loop, Record
from penstock.control.policy import Policy
from penstock.control.routes.routing import Routing
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.guard import Guard
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.rules.useful_replicas import HighestReplicas
from penstock.plan.elements.pipeline import pipeline_of

HIGHEST = 8
TWIN_RUNS = 7
LEVELS = (0.3, 0.85, 0.15, 0.6, 0.42, 0.75)  # of the highest throughput, each for as long
_PIECE_S, _CAP_S, _DEVIATIONS = 0.25, 2.0, 3.0  # as `run_controlled` and a live controller have them


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Replicas by control step of the live run, and what the twin had at the same moments.

    `fields`: all figures of both, the twin's under the replicas of the live run.
    """

    times_s: tuple[float, ...]
    live: tuple[int, ...]
    simulated: tuple[int, ...]
    fields: tuple[StepField, ...] = ()

    @property
    def agreement(self) -> float:
        """The share of steps with the same replicas."""
        return sum(a == b for a, b in zip(self.live, self.simulated, strict=True)) / len(self.live)

    @property
    def best_constant(self) -> float:
        """What the constant that agrees most often would have."""
        return max(self.live.count(own) for own in set(self.live)) / len(self.live)


def staircase(capacity_tuples_s: float, step_s: float) -> Load:
    """A load that wants few and many replicas in turns."""
    pieces = round(step_s / _PIECE_S)
    counts = np.repeat([round(level * capacity_tuples_s * _PIECE_S) for level in LEVELS], pieces).astype(np.int64)
    edges_s = np.arange(len(counts) + 1, dtype=np.float64) * _PIECE_S
    return Load("staircase", counted_arrivals(edges_s, counts), float(edges_s[-1]), 1.0)


def live_records(session: Any, load: Load, capacity: float, service: int, folder: Path) -> list[Record]:
    """The service-bound application on Spark under MPC."""
    folder.mkdir(parents=True, exist_ok=True)
    run = run_controlled(
        session, "service-bound", load, throughput(), "mpc", "", highest=HIGHEST, capacity=capacity, service=service,
        folder=folder,
    )  # fmt: skip
    return run.records


def twin_records(
    scene: Scene, fit: twin.Fit, load: Load, capacity: float, seed: int = 1, *, like: Sequence[Record] = ()
) -> list[Record]:
    """The same policy, rules and load on the twin; `like`: with the replicas of another run instead."""
    cap, goal = round(_CAP_S * capacity), throughput()
    limits = Limits(max_replicas=HIGHEST, max_micro_batch_tuples=cap)
    configuration = fit.configuration.with_replicas(scene.element, HIGHEST // 2)
    edges_s = np.arange(0.0, load.end_s + _PIECE_S / 2, _PIECE_S)
    arrived = np.array([load.arrivals.arrived_by(float(edge)) for edge in edges_s])
    counts = [LEAD_S * float(load.arrivals.arrived_by(1.0)), *np.diff(arrived).tolist()]
    model = arriving(fit, counts, [LEAD_S, *([_PIECE_S] * (len(counts) - 1))], _PIECE_S)
    end_s = LEAD_S + load.end_s
    configuration = replace(configuration, micro_batch_tuples=cap)
    plant = fitted_plant(fit, model, configuration, end_s, seed, paced=True)
    policy: Policy = played(like, LEAD_S) if like else as_a_user_gets_it("mpc", goal, limits, HIGHEST, cap)
    single = frozenset(own.name for own in fit.elements if own.is_single)
    guard, useful = None if like else Guard(), HighestReplicas(CORES, HIGHEST, single, 1)
    rules = application_rules(guard, bounds=Bounds(1, HIGHEST), useful=useful)
    free = tuple(e.name for e in pipeline_of(scene.application("unbounded").graph).elements if e.scope == "none")
    routing = Routing(allowed=limits.max_imbalance, scalable=free, deviations=_DEVIATIONS)
    return since(list(Loop(policy, goal, rules, routing).run(plant)), LEAD_S)


def compared(live: Sequence[Record], simulated: Sequence[Sequence[Record]], end_s: float) -> ClosedLoop:
    """Step by step of the live run, until the load is over; of several runs of the twin the median."""
    steps = [own for own in live if own.seen.ended_at_s <= end_s]
    times_s = [own.seen.ended_at_s for own in steps]
    there = [_replicas_at(own, times_s) for own in simulated]
    middle = tuple(median_low(at_once) for at_once in zip(*there, strict=True))
    return ClosedLoop(tuple(times_s), tuple(own.seen.setting.replicas for own in steps), middle)


def with_fields(own: ClosedLoop, live: Sequence[Record], under: Sequence[Record], end_s: float) -> ClosedLoop:
    """With the figures of both; `under`: the twin under the replicas of the live run."""
    return replace(own, fields=step_fields(live, under, end_s))


def alike(runs: Sequence[Sequence[Record]], end_s: float) -> float | None:
    """The share of steps in which two runs of the same kind have the same replicas, on average; None for one run."""
    pairs = [compared(one, [other], end_s).agreement for one, other in permutations(runs, 2)]
    return mean(pairs) if pairs else None


def _replicas_at(records: Sequence[Record], times_s: Sequence[float]) -> list[int]:
    """Those of the step that each moment is in."""
    ends_s = np.array([own.seen.ended_at_s for own in records])
    places = np.minimum(np.searchsorted(ends_s, times_s), len(ends_s) - 1)
    return [records[place].seen.setting.replicas for place in places.tolist()]
