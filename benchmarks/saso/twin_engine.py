"""`python -m benchmarks saso --engine twin`: every policy and the oracle on the twin, over traces and seeds.

MPC changes routes while the application runs; rivals restart it at each change, for as long as a setting says.  A row
is one policy in one case: a trace, an application, a goal, a seed, and the seconds that a restart takes.  Chance
strikes at the same moments for all policies: with draws of their own, one task in a thousand that straggles decided
most cases.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from benchmarks.saso.loads import Load, trace_load
from benchmarks.saso.metrics import Saso, measure
from benchmarks.saso.policies import oracles, our_policy, rivals
from benchmarks.saso.saso import COMPUTING, SERVICE_BOUND, Application, best_of
from penstock.control.goals.goal import MEAN_TO_P95, Goal, latency, throughput
from penstock.control.loop.loop import Loop
from penstock.control.plant import Plant
from penstock.control.policy import Policy
from penstock.control.rivals.static import Static
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.guard import Guard
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.setting import Grid, Setting
from penstock.simulate.plant_shape import PlantShape
from penstock.simulate.shape_plant import shape_plant

RESTARTS_S = (10.0, 60.0)
_OTHER_DRAWS = 1000  # added to a seed
_TASK_S, _STRAGGLERS = 0.0012, 0.001  # record 0010's task; one task in 1,000 takes three times as long
_GOALS = {"throughput": throughput(), "latency": latency(mean_ms=800, p95_ms=800 * MEAN_TO_P95)}
_APPLICATIONS = {own.name: own for own in (COMPUTING, SERVICE_BOUND)}


@dataclass(frozen=True, slots=True)
class Row:
    """One run; `restart_s`: 0 for MPC and the oracle, and for rivals that are given live changes."""

    trace: str
    application: str
    goal: str
    seed: int
    restart_s: float
    policy: str
    kind: str  # mpc, oracle, rival, luck
    violations: float
    p95_violations: int | None
    mean_replicas: float
    reconfigurations: float
    mean_latency_s: float
    forecast_error: float | None

    @property
    def case(self) -> tuple[str, str, str, int]:
        return self.trace, self.application, self.goal, self.seed


@dataclass(frozen=True, slots=True)
class TwinCase:
    """A trace, an application and a goal; MPC's two settings where they are not its default."""

    trace: Path
    application: str
    goal: str
    seed: int
    steps: int
    restarts_s: tuple[float, ...]
    confidences: tuple[float, ...] = ()
    paybacks: tuple[float, ...] = ()


def twin_cases(
    traces: Sequence[Path],
    seeds: Sequence[int],
    steps: int,
    restarts_s: Sequence[float],
    confidences: Sequence[float] = (),
    paybacks: Sequence[float] = (),
) -> list[TwinCase]:
    return [
        TwinCase(trace, application, goal, seed, steps, tuple(restarts_s), tuple(confidences), tuple(paybacks))
        for trace, application, goal, seed in product(traces, _APPLICATIONS, _GOALS, seeds)
    ]


def twin_rows(cases: Sequence[TwinCase]) -> Iterator[list[Row]]:
    """The rows of each case, in order, on all cores."""
    workers = min(len(os.sched_getaffinity(0)), len(cases))
    if workers <= 1:
        yield from map(rows_of_case, cases)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(rows_of_case, cases)


def rows_of_case(case: TwinCase) -> list[Row]:
    """MPC, the oracle, all replicas with other draws of chance, and each rival as published at each restart time."""
    shape = _shape(_APPLICATIONS[case.application])
    load = trace_load(case.trace, shape.highest_replicas / shape.service_s, case.steps)
    goal, cap = _GOALS[case.goal], round(2 * shape.highest_replicas / shape.service_s)
    grid = Grid(tuple(range(1, shape.highest_replicas + 1)), caps_tuples=(cap,))
    run = partial(_run, case, load, goal, grid)
    found = []
    if case.confidences or case.paybacks:
        for confidence, payback_s in product(case.confidences, case.paybacks):
            own = our_policy(goal, grid, shape, confidence=confidence, payback=payback_s)
            name = f"mpc confidence {confidence:g} payback {payback_s:g}"
            found.append(_row(case, 0.0, "mpc", run(shape, own, guarded=True), name))
    else:
        found.append(_row(case, 0.0, "mpc", run(shape, our_policy(goal, grid, shape), guarded=True), "mpc"))
    known = [run(shape, policy) for _, policy in oracles(goal, grid, shape, load.arrivals)]
    found.append(_row(case, 0.0, "oracle", best_of(known, min(own.violations for own in known)), "oracle"))
    again = partial(_run, replace(case, seed=case.seed + _OTHER_DRAWS), load, goal, grid)
    static = again(shape, Static(shape.highest_replicas, Bounds(1, shape.highest_replicas)))
    found.append(_row(case, 0.0, "luck", static, "static, other draws"))
    for rival, restart_s in product(rivals(shape.highest_replicas), case.restarts_s):
        policy = rival.variants(load.speed_up, quick=True)[0][1]
        pause_s = 0.0 if isinstance(policy, Static) else restart_s  # it would begin with what it has
        found.append(_row(case, restart_s, "rival", run(replace(shape, restart_s=pause_s), policy), policy.name))
    return found


def _shape(application: Application) -> PlantShape:
    return replace(application.shape, task_s=_TASK_S, straggler_ratio=_STRAGGLERS)


def _run(
    case: TwinCase, load: Load, goal: Goal, grid: Grid, shape: PlantShape, policy: Policy, *, guarded: bool = False
) -> Saso:
    start = Setting(shape.highest_replicas // 2, None, grid.caps_tuples[0])

    def plant() -> Plant:
        return shape_plant(shape, load.arrivals, start, end_s=load.end_s, seed=case.seed, by_moment=True)

    return measure(plant, Loop(policy, goal, application_rules(Guard() if guarded else None)), grid)[0]


def _row(case: TwinCase, restart_s: float, kind: str, own: Saso, name: str) -> Row:
    return Row(
        case.trace.stem, case.application, case.goal, case.seed, restart_s, name, kind, own.violations,
        own.p95_violations, own.mean_replicas, own.reconfigurations, own.mean_latency_s, own.forecast_error,
    )  # fmt: skip
