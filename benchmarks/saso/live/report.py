"""The part of `python -m benchmarks saso` that ran on Spark: tables for people, plain values for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from benchmarks.report import table_of
from benchmarks.saso.live.comparisons import SparkComparison
from benchmarks.saso.live.scenarios import LiveOutcome
from benchmarks.saso.metrics import Saso
from benchmarks.saso.report import figures_of
from benchmarks.saso.saso import keeping

_COLUMNS = ("changes", "violations", "amplitude", "settling (s)", "replicas", "watts (est.)", "latency (s)")


def print_spark(console: Console, comparison: SparkComparison) -> None:
    """One table per application, load and goal."""
    case = comparison.case
    title = f"on Spark: {case.name}; {case.load.end_s:.0f} s, up to {case.highest_replicas} replicas"
    table = table_of(title, "policy", *_COLUMNS, "<setting")
    for result in comparison.results:
        table.add_row(*_cells(result))
    console.print(table)
    same = "results equal to the bit" if comparison.exact else "[red]results differ[/]"
    console.print(f"{same}; all replicas together: {case.capacity_tuples_s:,.0f} tuples/s")
    missed, rivals = comparison.missed(), comparison.results[1:]
    reached = f"goal reached beside {len(keeping(rivals))} of {len(rivals)} rivals, those that keep the goal as well"
    console.print(f"[red]missed: {'; '.join(missed)}[/]" if missed else f"[green]{reached}[/]")


def _cells(result: Saso) -> list[str]:
    return [
        result.policy, str(result.reconfigurations), str(result.violations), f"{result.amplitude:.2f}",
        f"{result.settling_steps:.1f}", f"{result.mean_replicas:.2f}", f"{result.watts_estimated:.1f}",
        f"{result.mean_latency_s:.2f}", result.setting,
    ]  # fmt: skip


def spark_summary(comparisons: Sequence[SparkComparison]) -> dict[str, Any]:
    """By case and policy the figures of the issue, all measured but the watts."""
    return {
        "cases": {
            c.case.name: {
                "capacity_tuples_s": round(c.case.capacity_tuples_s),
                "seconds": c.case.load.end_s,
                "speed_up": round(c.case.load.speed_up, 2),
                "exact": c.exact,
                "missed": c.missed(),
                "policies": {r.policy: _figures(r) for r in c.results},
            }
            for c in comparisons
        },
        "cases_reached": sum(not c.missed() for c in comparisons),
        "exact": all(c.exact for c in comparisons) if comparisons else None,
    }


def _figures(result: Saso) -> dict[str, Any]:
    return {**figures_of(result), "mean_latency_s": round(result.mean_latency_s, 3)}


def print_live(console: Console, outcome: LiveOutcome) -> None:
    """One line per situation."""
    mark = "[green]✓[/]" if outcome.passes else "[red]✗[/]"
    found = outcome.run.saso
    console.print(
        f"{mark} {outcome.live.name}: {outcome.live.question}; {found.reconfigurations} changes, "
        f"{found.mean_replicas:.2f} replicas on average, {found.violations} s of violations"
    )


def live_summary(outcomes: Sequence[LiveOutcome]) -> dict[str, Any]:
    """By situation whether it was passed, and the figures."""
    return {o.live.name: {"passes": o.passes, **_figures(o.run.saso)} for o in outcomes}
