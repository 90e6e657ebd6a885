"""What a dashboard costs the run that it shows: its CPU, the throughput with and without it, its memory."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.dashboard import memory_over_hours, watched_run
from benchmarks.dashboard.memory_over_hours import Sample, measure_memory, slope_mb_h
from benchmarks.dashboard.turns import interval, mean_ratio, rate_tuples_s, ratios
from benchmarks.dashboard.watched_run import WatchedRun, measure_watched_run
from benchmarks.machine import this_machine
from benchmarks.report import finish, measured, table_of, wide_console

MOST_ONE, MOST_TWENTY, LEAST_RATIO, MOST_MB_H = 0.01, 0.03, 0.98, 0.1
PARTS = ("run", "memory")


def run_dashboard(
    *, quick: bool, pairs: int | None, part: str | None, json_file: Path | None, folder: Path | None
) -> None:
    """Prints what was found, and ends with one JSON object; figures of a part that was left out are null."""
    body: dict[str, Any] = dict.fromkeys(
        ("cpu_share_one", "cpu_share_twenty", "throughput_ratio", "memory_slope_mb_h"), None
    )
    table = table_of("the dashboard beside a run on local Spark", "figure", "found", "bound")
    if part in (None, "run"):
        effort = watched_run.QUICK if quick else watched_run.Effort()
        effort = effort if pairs is None else replace(effort, pairs=pairs)
        body |= _of_run(measured(measure_watched_run, effort, folder)) | {"turn_s": effort.turn_s}
        table.add_row("CPU of the machine, one client", f"{body['cpu_share_one']:.2%}", f"at most {MOST_ONE:.0%}")
        table.add_row("CPU, twenty clients", f"{body['cpu_share_twenty']:.2%}", f"at most {MOST_TWENTY:.0%}")
        between = f"{body['throughput_ratio_low']} to {body['throughput_ratio_high']}"
        table.add_row("throughput with / without", f"{body['throughput_ratio']} ({between})", f"at least {LEAST_RATIO}")
    if part in (None, "memory"):
        body |= _of_memory(
            measured(measure_memory, memory_over_hours.QUICK if quick else memory_over_hours.Effort(), folder)
        )
        hours = f"memory, MB an hour, over {body['memory_hours']} hours of journal"
        table.add_row(hours, f"{body['memory_slope_mb_h']}", f"at most {MOST_MB_H}")
    wide_console(100).print(table)
    finish(body, this_machine(), json_file)


def _of_run(found: WatchedRun) -> dict[str, Any]:
    own = ratios(found.turns, found.commits)
    low, high = interval(own)
    rates = [rate for turn in found.turns if (rate := rate_tuples_s(turn, found.commits)) is not None]
    return {
        "cpu_share_one": round(found.cpu_one, 5), "cpu_share_twenty": round(found.cpu_twenty, 5),
        "throughput_ratio": round(mean_ratio(own), 4), "throughput_ratio_low": round(low, 4),
        "throughput_ratio_high": round(high, 4), "throughput_ratio_median": round(statistics.median(own), 4),
        "pairs": len(own), "spread_of_turns": round(statistics.stdev(rates) / statistics.mean(rates), 3),
        "tuples_s": round(statistics.mean(rates)), "pair_ratios": [round(each, 3) for each in own],
    }  # fmt: skip


def _of_memory(samples: list[Sample]) -> dict[str, Any]:
    shown = samples[:: max(len(samples) // 12, 1)]
    return {
        "memory_slope_mb_h": round(slope_mb_h(samples), 3), "memory_mb": round(samples[-1].memory_mb, 1),
        "memory_hours": round(samples[-1].hour, 1),
        "memory_mb_by_hour": {f"{own.hour:.1f}": round(own.memory_mb, 1) for own in shown},
    }  # fmt: skip
