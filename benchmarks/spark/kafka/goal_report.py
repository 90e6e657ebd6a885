"""The report of `python -m benchmarks kafka --goal FEED`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.report import measured, report, table_of
from benchmarks.spark.kafka.goal import FALLS, FEEDS, RISES, GoalEffort, GoalResult, run_goal
from penstock.errors import InputError
from penstock.measure.observation import latency_over
from penstock.watch.pictures.timeline_chart import ChartText, save_run


def report_goal(feed: str, *, quick: bool, picture: Path | None, json_file: Path | None, folder: Path | None) -> None:
    """Measures, prints, draws."""
    if feed not in FEEDS:
        raise InputError(f"--goal is one of {', '.join(FEEDS)}; got {feed!r}")
    effort = GoalEffort(feed=feed, seconds=60.0) if quick else GoalEffort(feed=feed)
    result = measured(run_goal, effort, folder)
    if picture is not None:
        draw_goal(result, picture)
    figures = goal_figures(result)
    report(result.outcome.title, [goal_table(figures)], [], figures, json_file)


def goal_figures(result: GoalResult) -> dict[str, Any]:
    """The JSON object; `lost` and `repeated` are results against tuples sent."""
    outcome, decisions = result.outcome, result.outcome.decisions
    found = latency_over(outcome.observations)
    return {
        "bench": "kafka",
        "goal_feed": result.effort.feed,
        "goal_p95_ms": result.effort.goal_p95_ms,
        "met_steps": sum(not own.broken for own in decisions),
        "steps": len(decisions),
        "p95_ms": None if found is None else round(found.p95_ms, 1),
        "p95_ms_before": result.phase_p95_ms(0.0, RISES),
        "p95_ms_tripled": result.phase_p95_ms(RISES, FALLS),
        "p95_ms_after": result.phase_p95_ms(FALLS, 9.0),
        "replicas_before": result.phase_replicas(0.7 * RISES, RISES),
        "replicas_at_end": result.phase_replicas(1.3, 9.0)
        if result.effort.is_outage
        else result.phase_replicas(0.9, 9.0),
        "mean_replicas": round(outcome.mean_replicas, 2),
        "highest_replicas": outcome.highest_replicas,
        "latency_from": list(result.latency_from),
        "lost": max(result.sent - outcome.counted.results, 0),
        "repeated": max(outcome.counted.results - result.sent, 0),
        "rate_tuples_s": result.effort.rate_tuples_s,
        "seconds": result.effort.seconds,
    }


def draw_goal(result: GoalResult, path: Path) -> None:
    """The run as the demonstration draws its own."""
    figures = goal_figures(result)
    caption = (
        f"{result.sent:,} tuples in, {result.outcome.counted.results:,} results; latency counts from: "
        f"{', '.join(result.latency_from)}. The goal was met in {figures['met_steps']} of {figures['steps']} control "
        f"steps, with {figures['mean_replicas']:.1f} replicas on average and {figures['highest_replicas']} at most. "
        "Dashed: replicas change while the query runs."
    )
    text = ChartText(result.outcome.title, caption, "seconds of the run")
    save_run(
        result.outcome.observations, result.outcome.configurations, text, [path], begin_s=result.outcome.began_at_s,
        goal_ms=result.effort.goal_p95_ms,
    )  # fmt: skip


def goal_table(figures: dict[str, Any]) -> Table:
    """p95 by phase, and what it took."""
    table = table_of(
        "latency goal", "p95 ms", "before", "tripled", "after", "steps met", "mean replicas", "most", "lost"
    )
    phases = [str(figures[f"p95_ms_{name}"]) for name in ("before", "tripled", "after")]
    met = f"{figures['met_steps']} of {figures['steps']}"
    replicas = str(figures["mean_replicas"]), str(figures["highest_replicas"])
    table.add_row(str(figures["p95_ms"]), *phases, met, *replicas, str(figures["lost"]))
    return table
