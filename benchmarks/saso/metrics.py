"""Stability, accuracy, settling time and overshoot of a run, from the records of the loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.control.goals.goal import Goal
from penstock.control.goals.goal_check import breaks, breaks_p95
from penstock.control.loop.loop import Loop, Record
from penstock.control.plant import Plant
from penstock.control.setting import Grid, amplitude
from penstock.model.power import PowerModel

_STEP_RATIO = 1.25  # a load step: this much more within two control steps


@dataclass(frozen=True, slots=True)
class Saso:
    """One policy under one load.

    Violations, means and settling are in control periods of a second, so that a policy whose micro-batches (and thus
    control steps) grow long is not counted less.  `settling_steps`: from a load step to the last violation after it.
    `p95_violations`: None where the goal has no such bound.
    """

    policy: str
    setting: str
    reconfigurations: int
    violations: int
    p95_violations: int | None
    amplitude: float
    settling_steps: float
    mean_replicas: float
    watts_estimated: float
    mean_latency_s: float
    forecast_error: float | None


@dataclass(frozen=True, slots=True)
class Overshoot:
    """Means of a run above the oracle's; below 0 where it had less, and mostly broke its goal for it."""

    replicas: float
    watts: float


def overshoot(result: Saso, oracle: Saso) -> Overshoot:
    return Overshoot(result.mean_replicas - oracle.mean_replicas, result.watts_estimated - oracle.watts_estimated)


PlantFactory = Callable[[], Plant]


def measure(plant: PlantFactory, loop: Loop, grid: Grid, *, setting: str = "") -> tuple[Saso, list[Record]]:
    """Runs a loop to the end of a plant: the twin or Spark."""
    records = list(loop.run(plant()))
    return saso(loop.policy.name, setting, records, loop.goal, grid), records


def saso(policy: str, setting: str, records: Sequence[Record], goal: Goal, grid: Grid) -> Saso:
    changes = [r for r in records if r.requested is not None]
    lengths = np.array([r.seen.period_s for r in records])
    power = PowerModel()
    watts = [power.watts(r.seen.setting.replicas, r.seen.setting.frequency_ghz or 2.0) for r in records]
    latencies = [r.seen.latency_mean_s or 0.0 for r in records]
    broken = [breaks(goal, r.seen) for r in records]
    amplitudes = [amplitude(grid, r.seen.setting, r.requested) for r in changes if r.requested is not None]
    return Saso(
        policy=policy,
        setting=setting,
        reconfigurations=len(changes),
        violations=_periods(lengths, broken),
        p95_violations=None if goal.p95_s is None else _periods(lengths, [breaks_p95(goal, r.seen) for r in records]),
        amplitude=float(np.mean(amplitudes)) if amplitudes else 0.0,
        settling_steps=settling_steps(records, broken),
        mean_replicas=float(np.average([r.seen.setting.replicas for r in records], weights=lengths)),
        watts_estimated=float(np.average(watts, weights=lengths)),
        mean_latency_s=float(np.average(latencies, weights=lengths)),
        forecast_error=forecast_error(records),
    )


def _periods(lengths: np.ndarray, broken: Sequence[bool]) -> int:
    return round(float(lengths[np.asarray(broken, bool)].sum()))


def settling_steps(records: Sequence[Record], broken: Sequence[bool]) -> float:
    """Mean seconds from a load step to the last violation before the next calm second; 0 where nothing broke."""
    rates = [r.seen.rate_tuples_s for r in records]
    steps = [i for i in range(2, len(rates)) if rates[i] > _STEP_RATIO * rates[i - 2] > 0]
    firsts = [i for n, i in enumerate(steps) if n == 0 or i > steps[n - 1] + 2]
    times = []
    for first in firsts:
        last = first
        while last < len(broken) and (broken[last] or (last == first and any(broken[first : first + 3]))):
            last += 1
        ended = records[min(last, len(records) - 1)].seen.ended_at_s
        times.append(ended - records[first].seen.ended_at_s)
    return float(np.mean(times)) if times else 0.0


def forecast_error(records: Sequence[Record]) -> float | None:
    """Mean absolute error of the rate that decisions expected, as a share of the mean rate; None without a forecast."""
    errors = [
        abs(before.decided.expected.rate_tuples_s - after.seen.rate_tuples_s)
        for before, after in itertools.pairwise(records)
        if before.decided.expected.rate_tuples_s is not None
    ]
    mean = float(np.mean([r.seen.rate_tuples_s for r in records]))
    return float(np.mean(errors)) / mean if errors and mean > 0 else None
