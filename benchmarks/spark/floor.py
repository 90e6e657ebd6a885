"""Benchmark `floor`: what a micro-batch with few tuples costs with state, journal, commit, and where it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.report import Show, table_of
from benchmarks.spark.applications import vwap_on
from benchmarks.spark.bare import bare_batches_ms
from benchmarks.spark.in_process import equals_in_process
from benchmarks.spark.sustained import configuration_of, totals
from benchmarks.spark.watching import started, watch_batches
from penstock import sinks, sources
from penstock.measure.observation import Observation
from penstock.testing import local_session

GOAL_OF_BARE = 1.3
_WHOLE = "triggerExecution"


@dataclass(frozen=True, slots=True)
class FloorEffort:
    """Batches that warm up and batches that count, and the tuples of each; bare Spark and ours in turn, by rounds.

    `again_batches` warm up in rounds behind the first.
    """

    warm_batches: int = 200
    batches: int = 100
    tuples: int = 64
    warm_limit_s: float = 300.0
    rounds: int = 3
    again_batches: int = 20


QUICK = FloorEffort(warm_batches=60, rounds=2)


@dataclass(frozen=True, slots=True)
class FloorResult:
    """Milliseconds of each batch: the whole, Spark's phases as it reports them, and our parts of its `addBatch`."""

    whole_ms: tuple[float, ...]
    spark_ms: Mapping[str, tuple[float, ...]]
    own_ms: Mapping[str, tuple[float, ...]]
    checksum_equal: bool
    bare_ms: tuple[float, ...] = ()

    @property
    def of_bare(self) -> float:
        """Our median to that of bare Spark."""
        return self.p50_ms / float(np.median(self.bare_ms))

    @property
    def p50_ms(self) -> float:
        return float(np.percentile(self.whole_ms, 50))

    @property
    def p95_ms(self) -> float:
        return float(np.percentile(self.whole_ms, 95))


def run_floor(effort: FloorEffort, folder: Path, show: Show) -> FloorResult:
    """Batch after batch of a few tuples, as fast as they go; bare Spark and ours in turn, in one session."""
    app = vwap_on(sources.trace(rate="unbounded", ticker="int32"), sinks.discard())
    block_rows = max(effort.tuples // 2, 1)  # a block for each of two tasks
    own = replace(configuration_of(app), micro_batch_tuples=effort.tuples, block_rows=block_rows)
    settings = {"spark.sql.streaming.numRecentProgressUpdates": str(effort.batches + 50)}
    count, bare, results = -(-effort.batches // effort.rounds), list[float](), list[FloorResult]()
    with local_session(conf=settings) as session:
        for number in range(effort.rounds):
            warm, place = effort.again_batches if number else effort.warm_batches, folder / str(number)
            bare += bare_batches_ms(session, effort.tuples, warm, count, place / "bare", show)
            with started(session, app, place / "ours", own) as handle:
                watch_batches(handle, warm, show, "warming up", effort.warm_limit_s)
                observed = watch_batches(handle, count, show, "measuring", effort.warm_limit_s)
                watch_batches(handle, 2, show, "waiting for Spark's last report")
                phases = spark_phases(session)
            results.append(floor_result(observed, phases, equals_in_process(app, totals(handle.result), 4096)))
    return replace(joined(results), bare_ms=tuple(bare))


def joined(results: Sequence[FloorResult]) -> FloorResult:
    """The batches of all rounds together."""

    def together(parts: Sequence[Mapping[str, tuple[float, ...]]]) -> dict[str, tuple[float, ...]]:
        return {name: tuple(ms for part in parts for ms in part.get(name, ())) for name in parts[0]}

    return FloorResult(
        tuple(ms for result in results for ms in result.whole_ms),
        together([result.spark_ms for result in results]),
        together([result.own_ms for result in results]),
        all(result.checksum_equal for result in results),
    )


def spark_phases(session: Any) -> dict[int, dict[str, float]]:
    """Durations that Spark reports of the batches of the one query of a session, in milliseconds, by batch."""
    (query,) = session.streams.active
    return {p.batchId: {k: float(v) for k, v in p.durationMs.items()} for p in query.recentProgress if p.numInputRows}


def floor_result(
    observed: Sequence[Observation], phases: Mapping[int, Mapping[str, float]], checksum_equal: bool
) -> FloorResult:
    """The batches that both Spark and we have reported."""
    both = [o for o in observed if o.batch in phases]
    names = sorted({name for o in both for name in phases[o.batch]} - {_WHOLE})
    spark = {name: tuple(phases[o.batch].get(name, 0.0) for o in both) for name in names}
    parts = [own_parts(o, phases[o.batch].get("addBatch", 0.0)) for o in both]
    own = {name: tuple(p[name] for p in parts) for name in parts[0]} if parts else {}
    return FloorResult(tuple(phases[o.batch][_WHOLE] for o in both), spark, own, checksum_equal)


def own_parts(observation: Observation, add_batch_ms: float) -> dict[str, float]:
    """Where our part of a batch went; tasks: the busiest replica of each element, one element after the other.

    What lies before our function's first line and after the commit is one part, since Spark only tells their sum.
    """
    tasks_ms = 1000 * sum(max(r.busy_s for r in own) for own in observation.replicas_by_element.values())
    whole_ms, times = observation.micro_batch_s * 1000, observation.times
    if times is None:
        parts = {"tasks": tasks_ms, "plan, submit, collect, publish": whole_ms - tasks_ms}
    else:
        parts = {
            "plan": times.plan_s * 1000,
            "tasks": tasks_ms,
            "submit and collect": times.run_s * 1000 - tasks_ms,
            "publish": times.publish_s * 1000,
        }
    return {**parts, "call and deliver": max(add_batch_ms - whole_ms, 0.0)}


def floor_figures(result: FloorResult, effort: FloorEffort) -> dict[str, Any]:
    return {
        "bench": "floor",
        "micro_batch_ms": round(result.p50_ms, 1),
        "micro_batch_p95_ms": round(result.p95_ms, 1),
        "bare_ms": round(float(np.median(result.bare_ms)), 1),
        "bare_p95_ms": round(float(np.percentile(result.bare_ms, 95)), 1),
        "of_bare": round(result.of_bare, 2),
        "batches": len(result.whole_ms),
        "warm_batches": effort.warm_batches,
        "tuples": effort.tuples,
        "checksum_equal": result.checksum_equal,
        "spark_ms": {name: round(float(np.median(ms)), 1) for name, ms in result.spark_ms.items()},
        "own_ms": {name: round(float(np.median(ms)), 1) for name, ms in result.own_ms.items()},
    }


def floor_tables(result: FloorResult) -> list[Table]:
    table = table_of("milliseconds of a micro-batch; parts of addBatch are ours", "part", "median", "p95")
    table.add_row("bare Spark of the same shape", *_percentiles(result.bare_ms))
    table.add_row("whole", f"{result.p50_ms:.1f}", f"{result.p95_ms:.1f}")
    for name, ms in sorted(result.spark_ms.items(), key=lambda pair: -float(np.median(pair[1]))):
        table.add_row(f"  {name}", *_percentiles(ms))
        for own, own_ms in result.own_ms.items() if name == "addBatch" else ():
            table.add_row(f"    {own}", *_percentiles(own_ms))
    return [table]


def floor_notes(result: FloorResult) -> list[str]:
    reached = "reached" if result.of_bare <= GOAL_OF_BARE else "missed"
    equal = "equal to" if result.checksum_equal else "DIFFERENT from"
    return [f"goal, {GOAL_OF_BARE} times bare Spark: {reached}, {result.of_bare:.2f}; results are {equal} the "
            "in-process engine's"]  # fmt: skip


def _percentiles(ms: Sequence[float]) -> tuple[str, str]:
    return f"{np.percentile(ms, 50):.1f}", f"{np.percentile(ms, 95):.1f}"
