"""`bench elastic-map` as a table and a picture."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.bench.elastic_map import DELAY_MS, KNEE_GOAL, SPEED_UP_GOAL, STATIC_GOAL
from penstock.bench.elastic_map_figures import Report


def print_report(console: Console, report: Report) -> None:
    table = Table(title=f"calls of {DELAY_MS:g} ms from one Spark task")
    for name in ("variant", "calls at once", "tuples/s", "with learning", "in order"):
        table.add_column(name, justify="left" if name == "variant" else "right")
    for row in report.rows:
        whole = f"{row.whole_tuples_s:,.0f}" if row.whole_tuples_s != row.tuples_s else ""
        table.add_row(row.name, row.level, f"{row.tuples_s:,.0f}", whole, "yes" if row.in_order else "NO")
    console.print(table)
    knees = Table(title="a service that slows down beyond a knee, which moves while the pool runs")
    for name in ("knee", "elastic, tuples/s", "best fixed, tuples/s", "ratio", "level", "most calls at once"):
        knees.add_column(name, justify="right")
    for own in report.knees:
        knees.add_row(
            str(own.knee), f"{own.tuples_s:,.0f}", f"{own.best_static_tuples_s:,.0f}", f"{own.ratio:.2f}",
            str(own.level), str(own.most_calls_at_once),
        )  # fmt: skip
    console.print(knees)
    summary = report.summary()
    console.print(
        f"goals: {SPEED_UP_GOAL:g} x plain (got {summary['speed_up']}), {STATIC_GOAL:g} of the best fixed level (got "
        f"{summary['ratio_to_best_static']}), {KNEE_GOAL:g} at the moving knee (got {summary['ratio_at_knee']})"
    )


def draw(report: Report, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    fixed = [(int(r.level), r.tuples_s) for r in report.rows if r.name.startswith("fixed")]
    others = [r for r in report.rows if not r.name.startswith("fixed")]
    figure, axes = plt.subplots(figsize=(8, 4.5), constrained_layout=True)
    axes.plot(*zip(*fixed, strict=True), "o-", color="0.5", label="fixed pool")
    for row, colour in zip(others, ("tab:red", "tab:orange", "tab:purple", "tab:blue"), strict=False):
        axes.plot(int(row.level), row.tuples_s, "D" if row.name == "elastic" else "s", color=colour, label=row.name)
    axes.set(xscale="log", yscale="log", xlabel="calls at once", ylabel="tuples/s",
             title=f"A function that waits {DELAY_MS:g} ms for a service")  # fmt: skip
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
    plt.close(figure)
