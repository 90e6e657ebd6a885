"""A run over several cases, with its progress shown on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.kernels.job import Case
from benchmarks.kernels.measurement import Effort, Measurement, measure


def run_cases(cases: Sequence[Case], effort: Effort, *, with_peers: bool) -> list[Measurement]:
    """Measures one case after the other; progress goes to the standard error."""
    columns = (MofNCompleteColumn(), BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    results: list[Measurement] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("", total=len(cases))
        for case in cases:

            def show(step: str, name: str = case.name) -> None:
                display.update(task, description=f"{name}: {step}")

            results.append(measure(case, effort, with_peers=with_peers, progress=show))
            display.advance(task)
    return results
