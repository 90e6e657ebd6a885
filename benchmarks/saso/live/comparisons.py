"""Policies on Spark: the trading application, computing and service-bound, under loads scaled to this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Show
from benchmarks.saso.live.loads import spark_loads
from benchmarks.saso.live.run import Bound, Controlled, capacity_tuples_s, run_controlled
from benchmarks.saso.loads import Load
from benchmarks.saso.metrics import Saso
from benchmarks.saso.policies import rivals
from benchmarks.saso.saso import Comparison, missed_against
from penstock.cli.demo.price_service import price_service
from penstock.control.goals.goal import Goal, latency, throughput
from penstock.control.loop.loop import Record
from penstock.testing import local_session

SERVICE_MS = 4.0
SERVICE_REPLICAS = 8  # waiting ones: four times the cores of the machine this was written on
QUICK_S, FULL_S = 16.0, 180.0
# Where the twin was not asked: the two that were cheapest on it once tuned (record 0033).
_USUAL_RIVALS = ("ds2", "flink autoscaler")


@dataclass(frozen=True, slots=True)
class SparkCase:
    """One application under one load with one goal, on Spark; `capacity_tuples_s` is that of all replicas."""

    bound: Bound
    load: Load
    goal: Goal
    highest_replicas: int
    capacity_tuples_s: float
    service: int | None

    @property
    def name(self) -> str:
        kind = "throughput" if self.goal.threshold_s is None else "latency"
        return f"{self.bound}, {self.load.name}, {kind}"


@dataclass(frozen=True, slots=True)
class SparkComparison:
    """MPC and two rivals in one case; `exact`: all gave the same results, and one for every 25th quote of a symbol."""

    case: SparkCase
    results: tuple[Saso, ...]
    records: dict[str, list[Record]]
    exact: bool

    def missed(self) -> list[str]:
        """Which parts of the goal MPC, the first of the results, misses beside the rivals."""
        return missed_against(self.results[0], self.results[1:])


def compare_on_spark(
    traces: Sequence[Path], seed: int, comparisons: Sequence[Comparison], progress: Show, *, quick: bool
) -> Iterator[SparkComparison]:
    """All cases, each as soon as it is done; `comparisons`: of the twin, from which the rivals are chosen."""
    seconds = QUICK_S if quick else FULL_S
    goals = [throughput()] if quick else [throughput(), latency(mean_ms=1500)]
    with tempfile.TemporaryDirectory(prefix="penstock-saso-") as folder, local_session(task_slots=16) as session:
        most: dict[Bound, int] = {"computing": _cores(), "service-bound": SERVICE_REPLICAS}
        for bound, highest in most.items():
            with _service(bound) as service:
                progress(f"{bound} on Spark: capacity of {highest} replicas")
                capacity = capacity_tuples_s(session, highest, service)
                progress(f"{bound} on Spark: {capacity:,.0f} tuples/s")
                for load in spark_loads(capacity, seed, seconds, traces, Path(folder)):
                    for goal in goals:
                        case = SparkCase(bound, load, goal, highest, capacity, service)
                        yield _compare(session, case, best_rivals(case, comparisons), Path(folder), progress)


def best_rivals(case: SparkCase, comparisons: Sequence[Comparison]) -> list[tuple[str, Any]]:
    """Setting and policy of the two best rivals of the same case on the twin, at their best settings there.

    A load that the twin was not asked about has `_USUAL_RIVALS`, as published.
    """
    # A tuned policy may have another name than the published one: name and setting together say which one it is.
    known = {
        (policy.name, setting): policy
        for rival in rivals(case.highest_replicas)
        for setting, policy in rival.variants(case.load.speed_up, quick=False)
    }
    same = [c for c in comparisons if c.case.name == case.name]
    if not same:
        return [("published", known[name, ""]) for name in _USUAL_RIVALS]
    moving = [r for r in same[0].best if not r.policy.startswith("static")]
    ranked = sorted(moving, key=lambda r: (max(r.violations, same[0].allowed_violations), r.mean_replicas))
    return [(r.setting, known[r.policy, r.setting]) for r in ranked[:2]]


def _compare(
    session: Any, case: SparkCase, others: Sequence[tuple[str, Any]], folder: Path, progress: Show
) -> SparkComparison:
    runs: list[Controlled] = []
    for setting, policy in [("", "mpc"), *others]:
        name = policy if isinstance(policy, str) else policy.name
        progress(f"{case.name} on Spark: {name}")
        runs.append(
            run_controlled(
                session, case.bound, case.load, case.goal, policy, setting,
                highest=case.highest_replicas, capacity=case.capacity_tuples_s, service=case.service, folder=folder,
            )
        )  # fmt: skip
    wanted = runs[0].fingerprint
    exact = all(run.fingerprint == wanted and not run.dead_letters for run in runs)
    return SparkComparison(case, tuple(r.saso for r in runs), {r.saso.policy: r.records for r in runs}, exact)


@contextmanager
def _service(bound: Bound) -> Iterator[int | None]:
    if bound == "computing":
        yield None
        return
    with price_service(SERVICE_MS) as port:
        yield port


def _cores() -> int:
    return max(len(os.sched_getaffinity(0)), 2)
