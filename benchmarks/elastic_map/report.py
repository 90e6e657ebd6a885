"""`python -m benchmarks elastic-map` as a table and a picture."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from benchmarks.elastic_map.elastic_map import DELAY_MS
from benchmarks.elastic_map.figures import KNEE_GOAL, PAST_KNEE_GOAL, SPEED_UP_GOAL, STATIC_GOAL, Report
from benchmarks.elastic_map.slow_service import PAST_KNEE
from benchmarks.machine import Machine
from benchmarks.pictures import figure_of
from benchmarks.report import table_of, verdict


def print_report(console: Console, report: Report, machine: Machine) -> None:
    """Machine, variants, knees, goals."""
    console.print(str(machine), soft_wrap=True)
    table = table_of(
        f"calls of {DELAY_MS:g} ms from one Spark task; periods of {report.period_s:g} s; late: as the service saw it "
        "between half and nine tenths of the rows; whole job: by the clock, with Spark's start and what the pool took "
        "to find its level",
        "variant", "calls at once", "tuples/s, late", "whole job", "in order",
    )  # fmt: skip
    for row in report.rows:
        rates = f"{row.tuples_s:,.0f}", f"{row.whole_tuples_s:,.0f}"
        table.add_row(row.name, row.level, *rates, "yes" if row.in_order else "NO")
    console.print(table)
    columns = "fixed, tuples/s", "elastic, tuples/s", "ratio"
    rounds = table_of("the best fixed level and the elastic pool in turns; late, as above", "round", *columns)
    for number, turn in enumerate(report.rounds, 1):
        rates = f"{turn.fixed.tuples_s:,.0f}", f"{turn.elastic.tuples_s:,.0f}"
        rounds.add_row(str(number), *rates, f"{turn.ratio:.2f}")
    console.print(rounds)
    knees = table_of(
        "a service that slows down beyond a knee, which moves while the pool runs; elastic: of the second half of the "
        f"time at each knee; past: of all of it, with more than {PAST_KNEE:g} x the knee at once",
        "knee", "elastic, tuples/s", "best fixed, tuples/s", "ratio", "level", "most calls at once", "past the knee",
    )  # fmt: skip
    for own in report.knees:
        phase = own.phase
        knees.add_row(
            str(phase.knee), f"{phase.tuples_s:,.0f}", f"{own.best_static_tuples_s:,.0f}", f"{own.ratio:.2f}",
            "unknown" if own.level is None else str(own.level), str(phase.most_calls), f"{phase.past_knee_ratio:.0%}",
        )  # fmt: skip
    console.print(knees)
    summary = report.summary()
    console.print(
        f"goals: {SPEED_UP_GOAL:g} x plain (got {summary['speed_up']}), {STATIC_GOAL:g} of the best fixed level (got "
        f"{summary['ratio_to_best_static']}, {summary['ratios_to_best_static'][0]} to "
        f"{summary['ratios_to_best_static'][-1]}), {KNEE_GOAL:g} at the moving knee (got {summary['ratio_at_knee']}), "
        f"at most {PAST_KNEE_GOAL:g} of the time past it (got {summary['past_knee_ratio_worst']})",
        soft_wrap=True,
    )
    console.print(verdict(summary["goals_missed"]), soft_wrap=True)


def draw(report: Report, path: Path) -> None:
    """Throughput by calls at once, and the pool beside the best fixed level at each knee."""
    fixed = [(int(r.level), r.tuples_s) for r in report.rows if r.name.startswith("fixed")]
    others = [r for r in report.rows if not r.name.startswith("fixed")]
    figure = figure_of(12, 4.5)
    axes, knees = figure.subplots(1, 2, width_ratios=[2, 1])
    axes.plot(*zip(*fixed, strict=True), "o-", color="0.5", label="fixed pool")
    for row, colour in zip(others, ("tab:red", "tab:orange", "tab:purple", "tab:blue"), strict=False):
        axes.plot(int(row.level), row.tuples_s, "D" if row.name == "elastic" else "s", color=colour, label=row.name)
    axes.set(xscale="log", yscale="log", xlabel="calls at once", ylabel="tuples/s",
             title=f"A function that waits {DELAY_MS:g} ms for a service")  # fmt: skip
    axes.legend()
    axes.grid(alpha=0.3)
    places = range(len(report.knees))
    knees.bar(
        [n - 0.2 for n in places], [k.best_static_tuples_s for k in report.knees], 0.4, color="0.5", label="best fixed"
    )
    knees.bar(
        [n + 0.2 for n in places], [k.phase.tuples_s for k in report.knees], 0.4, color="tab:blue", label="elastic"
    )
    knees.set_xticks(list(places), [str(k.phase.knee) for k in report.knees])
    knees.set(xlabel="knee of the service, one after the other", ylabel="tuples/s", title="A knee that moves")
    knees.legend()
    figure.savefig(path, dpi=150)
