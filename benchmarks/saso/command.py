"""What `python -m benchmarks saso` does, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.machine import this_machine
from benchmarks.report import finish, wide_console
from benchmarks.saso import processes
from benchmarks.saso.live.comparisons import SparkComparison, compare_on_spark
from benchmarks.saso.live.report import live_summary, print_live, print_spark, spark_summary
from benchmarks.saso.live.scenarios import LiveOutcome, run_lives
from benchmarks.saso.report import draw_runs, file_name, print_comparisons, print_paper, print_scenarios, summary

_DRAWN = ("given", "mpc", "oracle", "thresholds 0.9/0.8", "ds2", "flink autoscaler", "kubernetes hpa")


def run_saso(
    traces: Sequence[Path],
    seed: int,
    pictures: Path | None,
    json_file: Path | None,
    only: str | None,
    *,
    quick: bool,
    policy: str | None = None,
) -> None:
    """Comparisons, the paper's strategies, the situations; each part is printed when it is done."""
    console, errors, machine = wide_console(150), Console(stderr=True), this_machine()

    def show(text: str) -> None:
        errors.print(text, style="dim", soft_wrap=True, highlight=False)

    console.print(f"{machine}; the twin in simulated time, Spark in real time, seed {seed}", soft_wrap=True)
    comparisons, runs, outcomes = [], [], []
    on_spark: dict[str, Any] = {}
    if only in (None, "comparisons"):
        for comparison in processes.comparisons(seed, traces, quick=quick, policy=policy):
            comparisons.append(comparison)
            print_comparisons(console, [comparison])
    if only in (None, "paper"):
        runs = processes.paper_runs(range(seed, seed + (3 if quick else 10)))
        print_paper(console, runs)
    if only in (None, "situations"):
        outcomes = processes.outcomes()
        print_scenarios(console, outcomes)
    if pictures is not None:
        for comparison in comparisons:
            drawn = {name: comparison.records[name] for name in _DRAWN if name in comparison.records}
            draw_runs(comparison.case.name, drawn, pictures / file_name(comparison.case.name))
        for outcome in outcomes:
            title = f"{outcome.scenario.name}: {outcome.scenario.question}"
            draw_runs(title, outcome.records, pictures / file_name(outcome.scenario.name))
    if only in (None, "spark"):
        if only == "spark":
            show("which rivals are best: the twin, some minutes")
        known = comparisons or list(processes.comparisons(seed, traces, quick=True))
        on_spark["spark"] = _on_spark(console, compare_on_spark(traces, seed, known, show, quick=quick), pictures)
    if only == "live" or (only is None and not quick):
        on_spark["live_situations"] = _live(console, run_lives(show), pictures)
    body = summary(comparisons, runs, outcomes, seed)
    finish(body | on_spark, machine, json_file)


def _on_spark(console: Console, found: Iterable[SparkComparison], pictures: Path | None) -> dict[str, Any]:
    """MPC and the two best rivals drive the trading application; printed case by case, given as plain values."""
    done = []
    for comparison in found:
        done.append(comparison)
        print_spark(console, comparison)
        if pictures is not None:
            title = f"on Spark: {comparison.case.name}"
            draw_runs(title, comparison.records, pictures / file_name(title), time_axis="s")
    return spark_summary(done)


def _live(console: Console, found: Iterable[LiveOutcome], pictures: Path | None) -> dict[str, Any]:
    """The situations that are played on Spark."""
    outcomes = []
    for outcome in found:
        outcomes.append(outcome)
        print_live(console, outcome)
        if pictures is not None:
            title = f"{outcome.live.name}: {outcome.live.question}"
            draw_runs(title, {"mpc": outcome.run.records}, pictures / file_name(outcome.live.name), time_axis="s")
    return live_summary(outcomes)
