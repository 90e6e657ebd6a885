"""What `python -m benchmarks saso` does, in order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.machine import this_machine
from benchmarks.report import finish, wide_console
from benchmarks.saso import processes
from benchmarks.saso.live.command import run_live_situations, run_on_spark
from benchmarks.saso.paper import directions
from benchmarks.saso.picture import draw_runs, file_name
from benchmarks.saso.report import print_comparisons, print_paper, print_scenarios, summary

_DRAWN = ("mpc", "oracle", "thresholds 0.9/0.8", "ds2", "flink autoscaler", "kubernetes hpa")


def run_saso(
    traces: Sequence[Path], seed: int, pictures: Path | None, json_file: Path | None, only: str | None, *, quick: bool
) -> None:
    """Comparisons, the paper's strategies, the situations; each part is printed when it is done."""
    console, errors = wide_console(150), Console(stderr=True)
    machine = this_machine()
    console.print(f"{machine}; queue model in simulated time, Spark in real time, seed {seed}", soft_wrap=True)
    comparisons, runs, outcomes = [], [], []
    on_spark: dict[str, Any] = {}
    if only in (None, "comparisons"):
        for comparison in processes.comparisons(seed, traces, quick=quick):
            comparisons.append(comparison)
            print_comparisons(console, [comparison])
    if only in (None, "paper"):
        runs = processes.paper_runs(range(seed, seed + (3 if quick else 10)))
        print_paper(console, runs, directions(runs))
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
            errors.print("which rivals are best: the queue model, some minutes", style="dim", highlight=False)
        known = comparisons or list(processes.comparisons(seed, traces, quick=True))
        on_spark["spark"] = run_on_spark(console, errors, traces, seed, known, pictures, quick=quick)
    if only == "live" or (only is None and not quick):
        on_spark["live_situations"] = run_live_situations(console, errors, pictures)
    body = summary(comparisons, runs, directions(runs) if runs else [], outcomes, seed)
    finish(body | on_spark, machine, json_file)
