"""The benchmark: fits the twin to one journal of each application, predicts other runs, and measures those."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import Show
from benchmarks.saso.live.comparisons import SERVICE_MS
from benchmarks.twin.closed_loop import (
    HIGHEST,
    TWIN_RUNS,
    ClosedLoop,
    alike,
    compared,
    live_records,
    staircase,
    twin_records,
    with_fields,
)
from benchmarks.twin.live_runs import FittedRun, RateSteps, fitted_run, largest_cap, latencies, saturated_rates
from benchmarks.twin.predictions import fit_of_run, predicted_latencies, predicted_rate
from benchmarks.twin.scenes import CORES, TASK_SLOTS, Scene, scenes
from penstock import twin
from penstock.cli.demo.price_service import price_service
from penstock.errors import InputError
from penstock.testing import local_session

SHARES = (0.4, 0.6, 0.8)  # of the highest throughput, for latency
_CAP_FACTOR = 8  # under a rate, micro-batches take whatever has come


@dataclass(frozen=True, slots=True)
class TwinEffort:
    """Seconds of each run and step.

    `saturated_s`: of a number of replicas in a round; `step_s`: of a rate, after `lead_s`; `loop_step_s`: of a level of
    the closed loop's load.
    """

    warm_s: float = 20.0
    fitted_s: float = 40.0
    saturated_s: float = 8.0
    step_s: float = 15.0
    lead_s: float = 8.0
    loop_step_s: float = 20.0
    rounds: int = 3


QUICK = TwinEffort(warm_s=8.0, fitted_s=9.0, saturated_s=2.0, step_s=5.0, lead_s=6.0, loop_step_s=8.0, rounds=1)


@dataclass(frozen=True, slots=True)
class Point:
    """One figure of one run; `measured`: a value of each round.  `is_fitted`: of the run that was learned from."""

    scene: str
    what: str
    measured: tuple[float, ...]
    simulated: float
    is_fitted: bool = False

    @property
    def error(self) -> float:
        """Relative, of the median."""
        middle = median(self.measured)
        return abs(self.simulated / middle - 1) if middle else 0.0


@dataclass(slots=True)
class TwinFindings:
    """All that was found; throughput in tuples/s, latency in seconds.

    `live_agreement`, `twin_agreement`: of one live run, or one run of the twin, with another.
    """

    throughput: list[Point] = field(default_factory=list)
    latency: list[Point] = field(default_factory=list)
    loops: list[ClosedLoop] = field(default_factory=list)
    fits: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    live_agreement: float | None = None
    twin_agreement: float | None = None

    @property
    def decisions(self) -> float | None:
        return median(own.agreement for own in self.loops) if self.loops else None

    @property
    def best_constant(self) -> float | None:
        return median(own.best_constant for own in self.loops) if self.loops else None


def run_twin(effort: TwinEffort, folder: Path, show: Show, only: Sequence[str] = ()) -> TwinFindings:
    """Every application, one after the other, in one session."""
    found = TwinFindings()
    with price_service(SERVICE_MS) as port, local_session(CORES, task_slots=TASK_SLOTS) as session:
        for scene in scenes(port):
            if only and scene.name not in only:
                continue
            began_s = time.monotonic()
            try:
                _scene(session, scene, effort, folder / scene.name, show, found, port)
            except InputError as error:
                found.problems.append(f"{scene.name}: {error}")
            print(f"{scene.name}: {time.monotonic() - began_s:.0f} s", file=sys.stderr)
    return found


def _scene(
    session: Any, scene: Scene, effort: TwinEffort, folder: Path, show: Show, found: TwinFindings, service: int
) -> None:
    cap = largest_cap(session, scene, folder / "warm", effort.warm_s, show)
    # The fitted run comes after the saturated ones: the driver grows faster for a minute or two of micro-batches.
    rates = saturated_rates(session, scene, cap, folder / "saturated", effort.saturated_s, effort.rounds, show)
    learned = fitted_run(session, scene, cap, folder / "fitted", effort.fitted_s, show)
    fit = fit_of_run(scene, learned.checkpoint)
    found.fits[scene.name] = fit.report.lines()
    found.throughput += [*_fitted_points(scene, learned, fit), *_rate_points(scene, fit, cap, rates)]
    if HIGHEST in rates:
        _closed_loops(session, scene, fit, median(rates[HIGHEST]), effort, folder, show, found, service)
    highest = median(rates[scene.late])
    rates_tuples_s = tuple(share * highest for share in SHARES * (1 + effort.rounds))
    steps = RateSteps(rates_tuples_s, effort.step_s, effort.lead_s, warm_steps=len(SHARES))
    measured = latencies(session, scene, _CAP_FACTOR * cap, steps, folder / "latency", show)
    predicted = predicted_latencies(scene, fit, _CAP_FACTOR * cap, steps)
    found.latency += _latency_points(scene, measured, predicted)


def _closed_loops(
    session: Any, scene: Scene, fit: twin.Fit, capacity: float, effort: TwinEffort, folder: Path, show: Show,
    found: TwinFindings, service: int,
) -> None:  # fmt: skip
    load = staircase(capacity, effort.loop_step_s)
    simulated = [twin_records(scene, fit, load, capacity, seed) for seed in range(1, TWIN_RUNS + 1)]
    found.twin_agreement = alike(simulated, load.end_s)
    lives = []
    for number in range(effort.rounds):
        show(f"{scene.name}, closed loop, round {number + 1} of {effort.rounds}")
        live = live_records(session, load, capacity, service, folder / f"loop{number}")
        under = twin_records(scene, fit, load, capacity, like=live)
        lives.append(live)
        found.loops.append(with_fields(compared(live, simulated, load.end_s), live, under, load.end_s))
    found.live_agreement = alike(lives, load.end_s)


def _fitted_points(scene: Scene, learned: FittedRun, fit: twin.Fit) -> list[Point]:
    return [
        Point(scene.name, _words(replicas, cap), (rate,), predicted_rate(scene, fit, replicas, cap), True)
        for (replicas, cap), rate in learned.rate_by_setting.items()
    ]


def _words(replicas: int, cap: int) -> str:
    return f"{replicas} replicas, micro-batches of {cap:,}"


def _rate_points(scene: Scene, fit: twin.Fit, cap: int, rates: dict[int, list[float]]) -> list[Point]:
    return [
        Point(scene.name, _words(replicas, cap), tuple(own), predicted_rate(scene, fit, replicas, cap))
        for replicas, own in rates.items()
    ]


def _latency_points(scene: Scene, measured: Sequence[float], predicted: Sequence[float]) -> list[Point]:
    number = len(SHARES)
    return [
        Point(
            scene.name, f"{scene.late} replicas at {share:.0%}", tuple(measured[place::number]),
            median(predicted[place::number]),
        )
        for place, share in enumerate(SHARES)
    ]  # fmt: skip
