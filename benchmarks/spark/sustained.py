"""Our engine at work: the best Configuration found by trying, its sustained rate, and results checked afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.spark.applications import SINK
from benchmarks.spark.batches import LateResults, Throughput, late_results, measuring_ratio, throughput
from benchmarks.spark.watching import Show, newest_batch, started, taken_by, watch_batches, watch_for
from penstock.app.application import Application
from penstock.connectors.trace.source import TraceSource
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.handle import Handle
from penstock.watch.run_result import RunResult

_WARM_BATCHES = 3


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is tried: caps of micro-batches first, then rows of blocks at the best cap."""

    micro_batch_tuples: tuple[int, ...]
    block_rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """A Configuration that was tried."""

    configuration: Configuration
    rate: Throughput


@dataclass(frozen=True, slots=True)
class Sustained:
    """A run: what was tried, the Configuration it stayed with, its rate, and what the discard sink got in all."""

    trials: tuple[Trial, ...]
    configuration: Configuration
    rate: Throughput
    tuples: int
    results: int
    checksum: int
    measuring_ratio: float | None
    last_batch: int


def configuration_of(app: Application, replicas: int = 2) -> Configuration:
    return default_configuration(pipeline_of(app.graph), replicas)


def sustain(
    session: Any, app: Application, folder: Path, sizes: Sizes, trial_s: float, seconds: float, show: Show,
    *, warm_s: float = 0.0,
) -> Sustained:  # fmt: skip
    """Tries sizes within one running query, then stays with the best for `seconds`."""
    begin = replace(configuration_of(app), micro_batch_tuples=sizes.micro_batch_tuples[0])
    with started(session, app, folder, begin) as handle:
        watch_for(handle, warm_s, show, "warming up", batches=_WARM_BATCHES)
        trials = _tried(handle, sizes, trial_s, show)
        best = max(trials, key=lambda t: t.rate.tuples_s).configuration if trials else _first(handle, sizes)
        observed = _measured(handle, best, seconds, show, "sustained")
    result = handle.result
    own = throughput(observed), *totals(result), measuring_ratio(observed), result.observations[-1].batch
    return Sustained(tuple(trials), best, *own)


def totals(result: RunResult) -> tuple[int, int, int]:
    """Tuples taken in all, and count and checksum of the discard sink."""
    earlier = 0 if result.earlier is None else result.earlier.tuples_in  # by batches that a long run has forgotten
    return earlier + sum(o.tuples_in for o in result.observations), *result.discarded.get(SINK, (0, 0))


def _tried(handle: Handle, sizes: Sizes, trial_s: float, show: Show) -> list[Trial]:
    if len(sizes.micro_batch_tuples) * len(sizes.block_rows) == 1:
        return []
    first = _first(handle, sizes)
    caps = [replace(first, micro_batch_tuples=cap) for cap in sizes.micro_batch_tuples]
    trials = [_trial(handle, configuration, trial_s, show) for configuration in caps]
    base = max(trials, key=lambda t: t.rate.tuples_s).configuration
    blocks = [replace(base, block_rows=rows) for rows in sizes.block_rows if rows != base.block_rows]
    return [*trials, *(_trial(handle, configuration, trial_s, show) for configuration in blocks)]


def _first(handle: Handle, sizes: Sizes) -> Configuration:
    """The first of the sizes; blocks in the middle of them, so that caps are compared at a fair one."""
    rows = sizes.block_rows[len(sizes.block_rows) // 2]
    return replace(handle.configuration, micro_batch_tuples=sizes.micro_batch_tuples[0], block_rows=rows)


def _trial(handle: Handle, configuration: Configuration, seconds: float, show: Show) -> Trial:
    what = f"trying {configuration.micro_batch_tuples:,} a micro-batch in blocks of {configuration.block_rows:,}"
    return Trial(configuration, throughput(_measured(handle, configuration, seconds, show, what)))


def _measured(handle: Handle, configuration: Configuration, seconds: float, show: Show, what: str) -> list[Observation]:
    """Batches under a Configuration; the two under way when it is applied may still have the one before."""
    handle.apply(configuration)
    watch_batches(handle, 2, show, what)
    return watch_for(handle, seconds, show, what)


@dataclass(frozen=True, slots=True)
class AtRate:
    """A run at a given rate: latency of its results, and whether it kept up."""

    offered_tuples_s: float
    rate: Throughput
    late: LateResults
    batches_ms: tuple[float, ...]

    @property
    def keeps_up(self) -> bool:
        return self.rate.tuples_s > 0.97 * self.offered_tuples_s


def at_rate(
    session: Any,
    app: Application,
    folder: Path,
    configuration: Configuration,
    warm_s: float,
    seconds: float,
    show: Show,
) -> AtRate:
    """Latency at the constant rate of the application's trace, once what came while it started has been dealt with."""
    trace = app.graph.sources[0].connector
    assert isinstance(trace, TraceSource)
    assert trace.rate_tuples_s is not None
    what = f"latency at {trace.rate_tuples_s:,.0f} tuples/s"
    with started(session, app, folder, configuration) as handle:
        watch_for(handle, warm_s, show, f"{what}, warming up", batches=_WARM_BATCHES)
        first = taken_by(handle, newest := newest_batch(handle))
        watch_for(handle, seconds, show, what)
    observed = [own for own in handle.result.observations if own.batch > newest]
    late = late_results(observed, first, trace.open(), handle.fixed.started_at_s)
    return AtRate(trace.rate_tuples_s, throughput(observed), late, tuple(o.micro_batch_s * 1000 for o in observed))
