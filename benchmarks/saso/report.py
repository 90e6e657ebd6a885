"""The report of `python -m benchmarks saso`: tables for people, one JSON object for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.pictures import figure_of, plain
from benchmarks.report import table_of
from benchmarks.saso.metrics import Overshoot, Saso, overshoot
from benchmarks.saso.paper import PAPER_FIGURES, PaperRun, averaged, directions
from benchmarks.saso.saso import Comparison
from benchmarks.saso.scenarios import Outcome
from penstock.control.loop.loop import Record

_FIGURES = ("reconfigurations", "violations", "amplitude", "settling_steps", "mean_replicas", "watts_estimated")
_COLUMNS = (
    "changes", "violations", "p95 violations", "amplitude", "settling (s)", "replicas", "overshoot (replicas)",
    "watts (est.)", "overshoot (watts)", "latency (s)",
)  # fmt: skip
_COLOURS = ("#2a7f62", "#c2483d", "#3b6ea8", "#b98a2f", "#7a5ca8", "#8a94a0")


def print_comparisons(console: Console, comparisons: Sequence[Comparison]) -> None:
    """One table per application, load and goal: ours, the oracle, and every rival as published and at its best."""
    for comparison in comparisons:
        table = table_of(comparison.case.name, "policy", *_COLUMNS, "<setting")
        given = () if comparison.given is None else (comparison.given,)
        ours = comparison.mpc, comparison.mpc_best, comparison.oracle
        for result in (*given, *ours, *comparison.published, *comparison.best):
            keeps = result.violations <= comparison.allowed_violations
            table.add_row(*_cells(result, overshoot(result, comparison.oracle), keeps=keeps))
        console.print(table)
        missed = comparison.missed()
        reached = "goal out of reach for the oracle too" if comparison.out_of_reach else "goal reached"
        console.print(reached if not missed else "missed: " + "; ".join(missed), soft_wrap=True)


def _cells(result: Saso, above: Overshoot, *, keeps: bool) -> list[str]:
    violations = f"{result.violations}" if keeps else f"[red]{result.violations}[/]"
    return [
        result.policy, str(result.reconfigurations), violations,
        "" if result.p95_violations is None else str(result.p95_violations), f"{result.amplitude:.2f}",
        f"{result.settling_steps:.1f}", f"{result.mean_replicas:.2f}", f"{above.replicas:+.2f}",
        f"{result.watts_estimated:.1f}", f"{above.watts:+.1f}", f"{result.mean_latency_s:.2f}", result.setting,
    ]  # fmt: skip


def print_paper(console: Console, runs: Sequence[PaperRun]) -> None:
    """The paper's strategies, and the directions of its Results 1-4."""
    columns = "strategy", "<load", "<mode", "changes", "violations", "amplitude", "replicas", "watts (est.)"
    table = table_of("the strategies of PROACTIVE with its weights", *columns)
    for run in averaged(runs):
        table.add_row(
            run.strategy, run.load, run.mode, f"{run.reconfigurations:.1f}", f"{run.violations:.1f}",
            f"{run.amplitude:.2f}", f"{run.mean_replicas:.2f}", f"{run.watts_estimated:.1f}",
        )  # fmt: skip
    console.print(table)
    for one in directions(runs):
        verdict = "holds" if one.holds else "does NOT hold"
        console.print(
            f"Result {one.result}: {one.claim}: {one.left:.3f} <= {one.right:.3f} {verdict}, "
            f"{one.seeds_holding} of {one.seeds} seeds",
            soft_wrap=True,
        )


def print_scenarios(console: Console, outcomes: Sequence[Outcome]) -> None:
    policies = outcomes[0].records if outcomes else ()
    table = table_of("situations that break autoscalers", "situation", "<question", *policies)
    for outcome in outcomes:
        cells = []
        for result in outcome.results:
            mark = "[green]✓[/]" if outcome.passes_by_policy[result.policy] else "[red]✗[/]"
            cells.append(f"{mark} {result.mean_replicas:.1f} / {result.reconfigurations}")
        table.add_row(outcome.scenario.name, outcome.scenario.question, *cells)
    console.print(table)
    console.print("mean replicas / changes")


def summary(
    comparisons: Sequence[Comparison], runs: Sequence[PaperRun], outcomes: Sequence[Outcome], seed: int
) -> dict[str, Any]:
    """The JSON object: by case and policy the figures of the issue, then goals, Results and situations."""
    results = directions(runs) if runs else []
    return {
        "bench": "saso",
        "plant": "twin",
        "cases": {c.case.name: _case(c) for c in comparisons},
        "goals_out_of_reach": [c.case.name for c in comparisons if c.out_of_reach],
        "goals_missed": {c.case.name: c.missed() for c in comparisons if c.missed()},
        "results_1_to_4": {
            f"{d.result}: {d.claim}": {"holds": d.holds, "seeds_holding": d.seeds_holding, "seeds": d.seeds}
            for d in results
        },
        "results_hold": all(d.holds for d in results) if results else None,
        "strategies": [
            {"strategy": r.strategy, "load": r.load, "mode": r.mode,
             **{name: round(getattr(r, name), 3) for name in PAPER_FIGURES}}
            for r in averaged(runs)
        ],
        "situations": {o.scenario.name: o.passes_by_policy for o in outcomes},
        "situations_passed": sum(o.passes for o in outcomes),
        "seed": seed,
    }  # fmt: skip


def _case(comparison: Comparison) -> dict[str, Any]:
    named = {"mpc": comparison.mpc, "mpc, best": comparison.mpc_best, "oracle": comparison.oracle}
    named |= {} if comparison.given is None else {"given": comparison.given}
    named |= {result.policy: result for result in comparison.published}
    best = {f"{result.policy.split(' 0')[0]}, best": result for result in comparison.best}
    return {name: _figures(result, comparison.oracle) for name, result in (named | best).items()}


def _figures(result: Saso, oracle: Saso) -> dict[str, Any]:
    above = overshoot(result, oracle)
    error = {} if result.forecast_error is None else {"forecast_error": round(result.forecast_error, 4)}
    return {
        **figures_of(result), "p95_violations": result.p95_violations, "overshoot_replicas": round(above.replicas, 3),
        "overshoot_watts": round(above.watts, 3), **error,
    }  # fmt: skip


def figures_of(result: Saso) -> dict[str, Any]:
    """The figures of a run that every plant has, and its setting where that is not the published one."""
    setting = {} if result.setting in ("", "published") else {"setting": result.setting}
    return {name: round(getattr(result, name), 3) for name in _FIGURES} | setting


def draw_runs(
    title: str, records: Mapping[str, Sequence[Record]], path: Path, time_axis: str = "s (simulated)"
) -> None:
    """Rate, replicas and backlog over time, one line per policy; the file's ending says its format."""
    figure = figure_of(9, 6)
    rate, replicas, backlog = figure.subplots(3, 1, sharex=True, height_ratios=(1, 2, 1.2))
    first = next(iter(records.values()))
    times, rates = [r.seen.ended_at_s for r in first], [r.seen.rate_tuples_s for r in first]
    rate.plot(times, rates, color="#333333", linewidth=1.2)
    for colour, (name, own) in zip(_COLOURS, records.items(), strict=False):
        wide = 2.0 if name == "mpc" else 1.0
        times = [r.seen.ended_at_s for r in own]
        replicas.step(times, [r.seen.setting.replicas for r in own], where="pre", color=colour, lw=wide, label=name)
        waiting_s = [r.seen.backlog_tuples / max(r.seen.rate_tuples_s, 1.0) for r in own]
        backlog.plot(times, waiting_s, color=colour, linewidth=wide)
    replicas.legend(fontsize=7, ncols=6, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.99))
    backlog.set_yscale("symlog", linthresh=1.0)
    plain(rate, title, y="tuples/s")
    plain(replicas, y="replicas")
    plain(backlog, x=time_axis, y="backlog (s of arrivals)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def file_name(title: str) -> str:
    """A title as the name of a PNG file."""
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split()) + ".png"
