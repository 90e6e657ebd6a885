"""The parts of `python -m benchmarks saso` that run on Spark, in order: comparisons, then the live situations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.saso.live.comparisons import compare_on_spark
from benchmarks.saso.live.report import live_summary, print_live, print_spark, spark_summary
from benchmarks.saso.live.scenarios import run_lives
from benchmarks.saso.picture import draw_runs, file_name
from benchmarks.saso.saso import Comparison


def run_on_spark(
    console: Console,
    errors: Console,
    traces: Sequence[Path],
    seed: int,
    comparisons: Sequence[Comparison],
    pictures: Path | None,
    *,
    quick: bool,
) -> dict[str, Any]:
    """MPC and the two best rivals drive the trading application; printed case by case, given as plain values."""
    done = []
    for found in compare_on_spark(traces, seed, comparisons, quick=quick, progress=_dim(errors)):
        done.append(found)
        print_spark(console, found)
        if pictures is not None:
            title = f"on Spark: {found.case.name}"
            draw_runs(title, found.records, pictures / file_name(title), time_axis="s")
    return spark_summary(done)


def run_live_situations(console: Console, errors: Console, pictures: Path | None) -> dict[str, Any]:
    """The situations that are played on Spark."""
    outcomes = []
    for outcome in run_lives(_dim(errors)):
        outcomes.append(outcome)
        print_live(console, outcome)
        if pictures is not None:
            title = f"{outcome.live.name}: {outcome.live.question}"
            draw_runs(title, {"mpc": outcome.run.records}, pictures / file_name(outcome.live.name), time_axis="s")
    return live_summary(outcomes)


def _dim(errors: Console) -> Any:
    return lambda text: errors.print(text, style="dim", soft_wrap=True)
