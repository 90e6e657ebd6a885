"""The runs on Spark: one that is fitted, saturated ones on several replicas, one under a rate in steps."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import Show
from benchmarks.spark.batches import throughput
from benchmarks.spark.watching import observations_of, started, watch_batches, watch_for
from benchmarks.twin.scenes import Scene
from penstock.errors import InputError
from penstock.measure.observation import Observation, latency_over
from penstock.spark.driver.handle import Handle

CAP_SHARES = (1.0, 0.25, 0.05)  # of the largest micro-batch, in the run that is fitted: small ones come at low rates
_FIRST_CAP, _GROWTH = 2_000, 4
_BATCH_S = 0.8  # the work of the largest micro-batch, about
_WORK_S = 0.15  # beyond what a small micro-batch takes: so much work tells how many tuples make `_BATCH_S`
_BATCHES = 8  # at each setting: a fit needs 20 in all
_LEAST_BATCHES = 4
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class FittedRun:
    """The run that the twin learns from; throughput by replicas and cap of its micro-batches."""

    checkpoint: Path
    rate_by_setting: Mapping[tuple[int, int], float]


def largest_cap(session: Any, scene: Scene, folder: Path, seconds: float, show: Show) -> int:
    """So many tuples that a micro-batch works for about `_BATCH_S`; a run of its own, which warms workers up.

    Workers of Python stay for the runs after it, with what they have compiled.
    """
    what, cap = f"{scene.name}, warming up", _FIRST_CAP
    configuration = replace(scene.configuration(max(scene.tried)), micro_batch_tuples=cap)
    with started(session, scene.application("unbounded"), folder, configuration) as handle:
        for replicas in (*scene.tried, *scene.fitted):
            handle.apply(replace(scene.configuration(replicas), micro_batch_tuples=cap))
            watch_for(handle, seconds / (len(scene.tried) + len(scene.fitted)), show, what, batches=6)
        least_s = _took_s(handle, cap, show, what)
        while True:
            cap *= _GROWTH
            work_s = _took_s(handle, cap, show, what) - least_s
            if work_s >= _WORK_S:
                break
        cap = round(cap * _BATCH_S / work_s)
        handle.apply(replace(handle.configuration, micro_batch_tuples=cap))
        watch_for(handle, seconds, show, what)  # the JVM compiles what large micro-batches do
        handle.apply(replace(handle.configuration, micro_batch_tuples=_FIRST_CAP))
        watch_for(handle, seconds, show, what)  # and the driver what every micro-batch does: small ones are more
    return cap


def _took_s(handle: Handle, cap: int, show: Show, what: str) -> float:
    """The time of micro-batches of so many tuples; the first ones may have the cap before, or compile code."""
    handle.apply(replace(handle.configuration, micro_batch_tuples=cap))
    return median(own.micro_batch_s for own in watch_batches(handle, 8, show, what)[4:])


def fitted_run(session: Any, scene: Scene, cap: int, folder: Path, seconds: float, show: Show) -> FittedRun:
    """A saturated run on the replicas of `scene.fitted`, each with shares of the largest micro-batch in turns."""
    rates = {}
    settings = [(replicas, max(round(share * cap), 1)) for replicas in scene.fitted for share in CAP_SHARES]
    configurations = {own: replace(scene.configuration(own[0]), micro_batch_tuples=own[1]) for own in settings}
    with started(session, scene.application("unbounded"), folder, configurations[settings[0]]) as handle:
        for setting in settings:
            handle.apply(configurations[setting])
            watch_batches(handle, 3, show, f"{scene.name}, fitted")  # two may be under way with the setting before
            seen = watch_for(handle, seconds / len(settings), show, f"{scene.name}, fitted", batches=_BATCHES)
            rates[setting] = throughput(seen).tuples_s
    return FittedRun(folder, rates)


def saturated_rates(
    session: Any, scene: Scene, cap: int, folder: Path, seconds: float, rounds: int, show: Show
) -> dict[int, list[float]]:
    """Tuples/s by replicas, once for each round; rounds are in turns, within one query."""
    found: dict[int, list[float]] = {replicas: [] for replicas in scene.tried}
    configuration = replace(scene.configuration(scene.tried[0]), micro_batch_tuples=cap)
    with started(session, scene.application("unbounded"), folder, configuration) as handle:
        watch_batches(handle, 4, show, f"{scene.name}, saturated, warming up")
        for number in range(rounds):
            for replicas in scene.tried if number % 2 == 0 else scene.tried[::-1]:
                handle.apply(replace(scene.configuration(replicas), micro_batch_tuples=cap))
                what = f"{scene.name}, saturated on {replicas} replicas, round {number + 1} of {rounds}"
                watch_batches(handle, 3, show, what)
                seen = watch_for(handle, seconds, show, what, batches=_LEAST_BATCHES)
                found[replicas].append(throughput(seen).tuples_s)
    return found


@dataclass(frozen=True, slots=True)
class RateSteps:
    """A rate in steps of equal length, after `lead_s` at the first of them; the first part of a step is not judged.

    Nor are the first `warm_steps`.
    """

    rates_tuples_s: tuple[float, ...]
    step_s: float
    lead_s: float
    unjudged: float = 0.4
    warm_steps: int = 0

    @property
    def end_s(self) -> float:
        return self.lead_s + self.step_s * len(self.rates_tuples_s)

    def write(self, path: Path) -> Path:
        """As a trace file, a little longer than what is judged."""
        rows = [(0.0, self.rates_tuples_s[0])]
        rows += [(self.lead_s + n * self.step_s, rate) for n, rate in enumerate(self.rates_tuples_s)]
        rows.append((self.end_s + self.step_s, self.rates_tuples_s[-1]))
        path.write_text("seconds,rate\n" + "".join(f"{second:g},{rate:g}\n" for second, rate in rows))
        return path

    def p95_s(self, observations: Sequence[Observation], began_s: float) -> list[float]:
        """The 95th percentile of latency in each step, by the micro-batches that ran in its judged part.

        One that takes longer than a step belongs to all that it ran in.
        """
        found = []
        for number in range(self.warm_steps, len(self.rates_tuples_s)):
            to_s = began_s + self.lead_s + (number + 1) * self.step_s
            from_s = to_s - (1 - self.unjudged) * self.step_s
            own = latency_over(o for o in observations if _ran_between(o, from_s, to_s))
            if own is None:
                raise InputError(self._silent(number, observations, began_s))
            found.append(own.p95_ms / 1000)
        return found

    def _silent(self, number: int, observations: Sequence[Observation], began_s: float) -> str:
        rate = self.rates_tuples_s[number]
        commits_s = [o.committed_at_s - began_s for o in observations if o.committed_at_s is not None]
        last_s = max(commits_s, default=0.0)
        return (
            f"no micro-batch with results ran in step {number + 1} at {rate:,.0f} tuples/s; there were "
            f"{len(commits_s)}, the last {last_s:.1f} s after the start; is the machine busy?"
        )


def _ran_between(observation: Observation, from_s: float, to_s: float) -> bool:
    committed_s = observation.committed_at_s
    return committed_s is not None and committed_s >= from_s and observation.started_at_s < to_s


def latencies(session: Any, scene: Scene, cap: int, steps: RateSteps, folder: Path, show: Show) -> list[float]:
    """p95 of latency in each step (s), on `scene.late` replicas."""
    folder.mkdir(parents=True, exist_ok=True)
    app = scene.application(str(steps.write(folder / "steps.csv")))
    configuration = replace(scene.configuration(scene.late), micro_batch_tuples=cap)
    with started(session, app, folder / "checkpoint", configuration) as handle:
        end_s = handle.fixed.started_at_s + steps.end_s
        while time.time() < end_s and not handle.wait(0.2):
            show(f"{scene.name}, latency on {scene.late} replicas: {end_s - time.time():.0f} s to go")
        watch_batches(handle, 1, show, f"{scene.name}, latency", limit_s=_PATIENCE_S)  # the one that runs at the end
        observed = observations_of(handle)
    return steps.p95_s(observed, handle.fixed.started_at_s)
