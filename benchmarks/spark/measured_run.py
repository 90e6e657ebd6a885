"""The share of measuring in all CPU of a run on Spark: at the demonstration's rate, and with large micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.report import Show
from benchmarks.spark.applications import vwap_on
from benchmarks.spark.batches import throughput
from benchmarks.spark.sustained import configuration_of
from benchmarks.spark.watching import started, watch_for
from penstock import sinks, sources
from penstock.connectors.trace.source import TraceSource
from penstock.measure.observation import Observation
from penstock.testing import local_session


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run once warm: seconds of CPU a micro-batch, and the share of measuring in them, in tasks and in the driver.

    `jvm_known_ratio` is the share of micro-batches whose tasks' CPU in the JVM was asked for.
    """

    name: str
    micro_batches: int
    micro_batch_ms: float
    tuples_s: float
    cpu_ms: float
    tasks_ratio: float
    driver_ratio: float
    jvm_known_ratio: float

    @property
    def ratio(self) -> float:
        return self.tasks_ratio + self.driver_ratio


@dataclass(frozen=True, slots=True)
class MeasuredEffort:
    """Seconds of each run, those before that warm up, and its tuples."""

    warm_s: float = 15.0
    seconds: float = 30.0
    rate_tuples_s: float = 1_000_000.0
    large_tuples: int = 4_000_000


FULL = MeasuredEffort()
QUICK = MeasuredEffort(warm_s=4.0, seconds=6.0, rate_tuples_s=300_000.0, large_tuples=1_000_000)


def measured_runs(effort: MeasuredEffort, folder: Path, show: Show) -> list[MeasuredRun]:
    """Both runs, in one session."""
    paced = sources.trace("constant", effort.rate_tuples_s)
    unbounded = sources.trace("unbounded")
    with local_session() as session:
        return [
            _measured(session, f"{effort.rate_tuples_s:,.0f} tuples/s", paced, None, effort, folder / "paced", show),
            _measured(
                session, f"{effort.large_tuples:,} tuples a micro-batch", unbounded, effort.large_tuples, effort,
                folder / "large", show,
            ),
        ]  # fmt: skip


def _measured(
    session: Any, name: str, trace: TraceSource, most: int | None, effort: MeasuredEffort, folder: Path, show: Show
) -> MeasuredRun:
    app = vwap_on(trace, sinks.discard())
    configuration = configuration_of(app)
    if most is not None:
        configuration = replace(configuration, micro_batch_tuples=most)
    with started(session, app, folder, configuration) as handle:
        watch_for(handle, effort.warm_s, show, f"{name}, warming up", batches=3)
        return measured_run(name, watch_for(handle, effort.seconds, show, name, batches=5))


def measured_run(name: str, observations: Sequence[Observation]) -> MeasuredRun:
    """The figures of some micro-batches."""
    known = [(o, o.cpu) for o in observations if o.cpu is not None]
    total_s = sum(cpu.total_s for _, cpu in known)
    replicas = [r for o, _ in known for own in o.replicas_by_element.values() for r in own]
    tasks_s = sum(r.measuring_cpu_s for r in replicas)
    return MeasuredRun(
        name,
        len(known),
        1000 * sum(o.micro_batch_s for o, _ in known) / len(known),
        throughput(observations).tuples_s,
        1000 * total_s / len(known),
        tasks_s / total_s,
        (sum(cpu.measuring_s for _, cpu in known) - tasks_s) / total_s,
        sum(r.jvm_cpu_s is not None for r in replicas) / len(replicas),
    )
