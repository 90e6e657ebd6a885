"""`python -m benchmarks measuring`: what the figures of an Observation cost: in tasks, in the driver, on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.measuring.driver_measuring import MicrosecondsByPart, driver_cost
from benchmarks.measuring.measuring import BLOCK_ROWS, SEED, MeasuringCost, measure
from benchmarks.report import progress_shown, report, table_of, work_folder
from benchmarks.spark import measured_run
from benchmarks.spark.measured_run import MeasuredEffort, MeasuredRun, measured_runs

GOAL_RATIO = 0.01


@dataclass(frozen=True, slots=True)
class Effort:
    """Tuples of a round, pairs of rounds, micro-batches of the driver, and the runs on Spark."""

    tuples: int = 2_097_152
    pairs: int = 40
    batches: int = 300
    run: MeasuredEffort = measured_run.FULL


QUICK = Effort(262_144, 8, 100, measured_run.QUICK)


def run_measuring(*, quick: bool, spark: bool, json_file: Path | None, folder: Path | None) -> None:
    """Measures, prints a table each, and ends with one JSON object."""
    effort = QUICK if quick else Effort()
    with work_folder(folder) as place, progress_shown() as show:
        show("the driver")
        driver_us = driver_cost(place / "driver", effort.batches)
        costs = []
        for rows in BLOCK_ROWS:
            show(f"blocks of {rows:,} tuples")
            costs.append(measure(rows, effort.tuples, effort.pairs))
        runs = measured_runs(effort.run, place, show) if spark else []
    tables = [_costs_table(costs, effort), _driver_table(driver_us), *([_runs_table(runs)] if runs else [])]
    notes = [_verdict(runs)] if runs else []
    report("vwap_per_ticker", tables, notes, figures(costs, driver_us, runs, effort), json_file)


def figures(
    costs: Sequence[MeasuringCost], driver_us: MicrosecondsByPart, runs: Sequence[MeasuredRun], effort: Effort
) -> dict[str, Any]:
    """The JSON object; `machinery_cpu_ratio` is the highest of the runs on Spark."""
    return {
        "bench": "measuring",
        "machinery_cpu_ratio": max((round(run.ratio, 5) for run in runs), default=None),
        "runs": [_run_figures(run) for run in runs],
        "driver_us": {part: round(us, 1) for part, us in driver_us.items()},
        "measuring_ratio": {str(c.block_rows): round(c.ratio, 5) for c in costs},
        "interval": {str(c.block_rows): [round(x, 5) for x in c.interval] for c in costs},
        "told_ratio": {str(c.block_rows): round(c.reported_ratio, 5) for c in costs},
        "pairs": effort.pairs,
        "seed": SEED,
    }


def _run_figures(run: MeasuredRun) -> dict[str, Any]:
    return {
        "run": run.name,
        "micro_batch_ms": round(run.micro_batch_ms, 1),
        "tuples_s": round(run.tuples_s),
        "tasks_ratio": round(run.tasks_ratio, 5),
        "driver_ratio": round(run.driver_ratio, 5),
        "jvm_known_ratio": round(run.jvm_known_ratio, 3),
    }


def _costs_table(costs: Sequence[MeasuringCost], effort: Effort) -> Table:
    caption = (
        f"a task's meters against its operators alone: one process, one thread, {effort.tuples:,} tuples a round, "
        f"{effort.pairs} pairs of rounds\nin turns; CPU of the thread, median and 95 % interval of the median"
    )
    table = table_of(caption, "tuples a block", "extra CPU", "interval", "as the meters say", "calls timed")
    for cost in costs:
        low, high = cost.interval
        reported, timed = f"{cost.reported_ratio:.2%}", f"{cost.timed_ratio:.0%}"
        table.add_row(f"{cost.block_rows:,}", f"{cost.ratio:.2%}", f"{low:.2%} to {high:.2%}", reported, timed)
    return table


def _driver_table(driver_us: MicrosecondsByPart) -> Table:
    table = table_of("the driver's part of a micro-batch, without the call of the JVM", "part", "CPU microseconds")
    for part, us in (*driver_us.items(), ("all", sum(driver_us.values()))):
        table.add_row(part, f"{us:.0f}")
    return table


def _runs_table(runs: Sequence[MeasuredRun]) -> Table:
    columns = "micro-batch ms", "tuples/s", "CPU ms", "in tasks", "in the driver", "measuring / all CPU", "JVM asked"
    table = table_of("on Spark, local[2], once warm; averages of a micro-batch", "run", *columns)
    for run in runs:
        times = f"{run.micro_batch_ms:.0f}", f"{run.tuples_s:,.0f}", f"{run.cpu_ms:.0f}"
        ratios = f"{run.tasks_ratio:.2%}", f"{run.driver_ratio:.2%}", f"{run.ratio:.2%}"
        table.add_row(run.name, *times, *ratios, f"{run.jvm_known_ratio:.0%}")
    return table


def _verdict(runs: Sequence[MeasuredRun]) -> str:
    reached = "reached" if all(run.ratio < GOAL_RATIO for run in runs) else "missed"
    return f"goal: measuring takes less than {GOAL_RATIO:.0%} of all CPU: {reached}"
