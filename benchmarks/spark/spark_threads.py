"""Benchmark `spark-threads`: waiting and computing elements in Spark's workers, on fixed and elastic threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.report import table_of
from benchmarks.spark.sustained import configuration_of
from benchmarks.spark.watching import Show, started, watch_batches, watch_for
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.plan.thread_setting import ElasticThreads
from penstock.spark.driver.handle import Handle
from penstock.testing import local_session

GOAL = 0.9
_SERVICE = "service"


@dataclass(frozen=True, slots=True)
class SparkThreadsEffort:
    """Seconds at each level, and at most until the elastic one settles; rows of a block, blocks of a micro-batch."""

    seconds: float = 8.0
    settle_s: float = 120.0
    period_s: float = 1.0
    waits_ms: tuple[float, ...] = (5.0, 20.0)
    flop: tuple[int, ...] = (10_000,)
    levels: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    rows: int = 256
    blocks: int = 400


QUICK = SparkThreadsEffort(seconds=2.0, settle_s=40.0, period_s=0.3, waits_ms=(10.0,), levels=(1, 4, 16), blocks=200)


@dataclass(frozen=True, slots=True)
class SparkThreadsRow:
    """A load at one setting: tuples per second inside tasks, over all replicas, and the threads of a replica."""

    load: str
    setting: str
    tuples_s: float
    threads: float
    settled: bool
    settled_after_s: float | None = None


def run_spark_threads(effort: SparkThreadsEffort, folder: Path, show: Show) -> list[SparkThreadsRow]:
    """Every load at every fixed level, and with the level left to the policy."""
    loads = {f"waits {ms:g} ms a block": (0, ms) for ms in effort.waits_ms}
    loads |= {f"computes {flop:,} flop a tuple": (flop, 0.0) for flop in effort.flop}
    rows: list[SparkThreadsRow] = []
    with local_session() as session:
        for number, (load, (flop, wait_ms)) in enumerate(loads.items()):
            app = _application(flop, wait_ms)
            plain = replace(
                configuration_of(app), block_rows=effort.rows, micro_batch_tuples=effort.rows * effort.blocks
            )
            with started(session, app, folder / str(number), plain) as handle:
                watch_batches(handle, 3, show, f"{load}, warming up")
                rows += [_fixed(handle, plain, load, level, effort, show) for level in effort.levels]
                rows.append(_elastic(handle, plain, load, effort, show))
    return rows


def _application(flop: int, wait_ms: float) -> Application:
    app = Application("spark_threads")
    quotes = app.source("quotes", sources.trace(rate="unbounded", keys=100))
    quotes.load(_SERVICE, flop, wait_ms_per_block=wait_ms).sink("out", sinks.discard())
    return app


def _fixed(
    handle: Handle, plain: Configuration, load: str, level: int, effort: SparkThreadsEffort, show: Show
) -> SparkThreadsRow:
    handle.apply(plain.with_threads(_SERVICE, level))
    watch_batches(handle, 2, show, f"{load}, {level} threads")
    seen = watch_for(handle, effort.seconds, show, f"{load}, {level} threads")
    return SparkThreadsRow(load, str(level), task_tuples_s(seen), level, True)


def _elastic(
    handle: Handle, plain: Configuration, load: str, effort: SparkThreadsEffort, show: Show
) -> SparkThreadsRow:
    """Measured once the level has settled."""
    handle.apply(plain.with_threads(_SERVICE, ElasticThreads(period_s=effort.period_s)))
    begin_s = time.monotonic()
    settled_after_s = None
    while settled_after_s is None and time.monotonic() - begin_s < effort.settle_s:
        newest = watch_batches(handle, 2, show, f"{load}, elastic")[-1]
        if newest.settled and all(r.threads is not None for r in newest.replicas_by_element[_SERVICE]):
            settled_after_s = time.monotonic() - begin_s
    seen = watch_for(handle, effort.seconds, show, f"{load}, elastic")
    threads = [r.threads for o in seen for r in o.replicas_by_element[_SERVICE]]
    level = median(own.level for own in threads if own is not None)
    return SparkThreadsRow(load, "elastic", task_tuples_s(seen), level, settled_after_s is not None, settled_after_s)


def task_tuples_s(observations: Sequence[Observation]) -> float:
    """Tuples per second of the time inside tasks, summed over replicas; what lies between micro-batches is left out."""
    replicas = [r for o in observations for r in o.replicas_by_element[_SERVICE]]
    seconds = sum(r.busy_s + r.waiting_s for r in replicas)
    return sum(r.tuples_in for r in replicas) / seconds * len(replicas) / len(observations) if seconds > 0 else 0.0


def best_fixed(rows: Sequence[SparkThreadsRow], load: str) -> SparkThreadsRow:
    return max((row for row in rows if row.load == load and row.setting != "elastic"), key=lambda row: row.tuples_s)


def spark_threads_figures(rows: Sequence[SparkThreadsRow], effort: SparkThreadsEffort) -> dict[str, Any]:
    """The JSON object: per load the gain over one thread, and the elastic level beside the best fixed one."""
    by_load: dict[str, dict[str, Any]] = {}
    for load in dict.fromkeys(row.load for row in rows):
        own = {row.setting: row for row in rows if row.load == load}
        best, elastic = best_fixed(rows, load), own["elastic"]
        by_load[load] = {
            "tuples_s": {name: round(row.tuples_s, 1) for name, row in own.items()},
            "best_fixed_threads": best.threads,
            "elastic_threads": elastic.threads,
            "elastic_settled": elastic.settled,
            "elastic_settled_after_s": elastic.settled_after_s,
            "speed_up_over_one_thread": round(elastic.tuples_s / own["1"].tuples_s, 3),
            "elastic_over_best_fixed": round(elastic.tuples_s / best.tuples_s, 4),
        }
    worst = min(own["elastic_over_best_fixed"] for own in by_load.values())
    return {
        "bench": "spark-threads", "loads": by_load, "elastic_over_best_fixed_worst": worst,
        "goals_missed": [] if worst >= GOAL else [f"{GOAL} of the best fixed number of threads"],
        "seconds": effort.seconds, "period_s": effort.period_s,
    }  # fmt: skip


def spark_threads_table(rows: Sequence[SparkThreadsRow]) -> Table:
    table = table_of(
        "tuples per second inside tasks; two replicas, threads of each", "load", "threads", "tuples/s", "to the best",
        "found", "settled after",
    )  # fmt: skip
    for row in rows:
        best = best_fixed(rows, row.load)
        found = f"{row.threads:g}" if row.setting == "elastic" else ""
        after = f"{row.settled_after_s:.0f} s" if row.settled_after_s is not None else "" if row.settled else "never"
        table.add_row(
            row.load, row.setting, f"{row.tuples_s:,.0f}", f"{row.tuples_s / best.tuples_s:.2f}", found, after
        )
    return table
