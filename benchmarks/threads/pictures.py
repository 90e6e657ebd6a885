"""Pictures of threads: throughput by level, levels under external load, queues over time, shares and gains."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

from benchmarks.pictures import figure_of, plain
from benchmarks.threads.elastic_operator import ElasticRun
from benchmarks.threads.external_load import LoadRun
from benchmarks.threads.multilevel import RULES, ChangeRun, MultiLevelRun
from benchmarks.threads.shared_grid import GridRow
from benchmarks.threads.thread_overhead import IngestionRow, OverheadRow

_COLOURS = ("#2a7f62", "#c2483d", "#b8862b", "#4b6cb7")
_GREY = "#8a94a0"


def draw_elastic(runs: Sequence[ElasticRun], path: Path) -> None:
    """A curve of fixed levels per load, and where each policy settled (ELASTIC, Figures 4 and 5)."""
    names = list(dict.fromkeys(run.load for run in runs))
    rows = ceil(len(names) / 4)
    figure = figure_of(13, 2.6 * rows)
    for number, name in enumerate(names):
        axes = figure.add_subplot(rows, 4, number + 1)
        own = [run for run in runs if run.load == name]
        static = own[0].static_tuples_s
        axes.plot(list(static), list(static.values()), color=_GREY, linewidth=1.2)
        for colour, policy in zip(_COLOURS, dict.fromkeys(run.policy for run in own), strict=False):
            found = [run for run in own if run.policy == policy]
            heights = [run.ratio * run.best_tuples_s for run in found]
            axes.plot(
                [run.settled_level for run in found], heights, "o", color=colour, markersize=4, alpha=0.7, label=policy
            )
        axes.set_ylim(bottom=0)
        plain(axes, f"{name} ({own[0].kind})", "threads", "tuples/s", size=7)
        if number == 0:
            axes.legend(fontsize=7, frameon=False)
    figure.savefig(path, dpi=150)


def draw_load(runs: Sequence[LoadRun], path: Path) -> None:
    """Throughput and level over time, one run per case and policy (ELASTIC, Figure 6)."""
    firsts = list({(run.load, run.policy): run for run in reversed(runs)}.values())[::-1]
    names = list(dict.fromkeys(run.load for run in firsts))
    figure = figure_of(12, 2.4 * 2 * len(names))
    for number, name in enumerate(names):
        own = [run for run in firsts if run.load == name]
        above = figure.add_subplot(2 * len(names), 1, 2 * number + 1)
        below = figure.add_subplot(2 * len(names), 1, 2 * number + 2)
        for colour, run in zip(_COLOURS, own, strict=False):
            above.plot(run.rates_tuples_s, color=colour, linewidth=1, label=run.policy)
            below.plot(run.levels, color=colour, linewidth=1)
        for phase in own[0].phases:
            span = (phase.phase.begin, phase.phase.end)
            above.plot(span, [phase.best_tuples_s] * 2, color="black", linewidth=1.2)
            below.plot(span, [phase.phase.taken_cores] * 2, color=_GREY, linewidth=1.2)
        above.legend(fontsize=7, frameon=False, loc="lower right")
        above.set_ylim(bottom=0)
        title = f"{name} ({own[0].kind}); black: the best fixed level; grey: cores taken"
        plain(above, title, y="tuples/s", size=7)
        plain(below, x="period", y="threads", size=7)
    figure.savefig(path, dpi=150)


def draw_multilevel(runs: Sequence[MultiLevelRun], changes: Sequence[ChangeRun], path: Path) -> None:
    """Every case relative to the better simple way, and a workload that changes (MULTILEVEL, Figures 9-13)."""
    cells = list(dict.fromkeys(run.cell for run in runs))
    figure = figure_of(13, 3.2 + 0.16 * len(cells))
    grid = figure.add_gridspec(2, 1, height_ratios=[max(1.0, 0.06 * len(cells)), 1])
    axes = figure.add_subplot(grid[0])
    for colour, rules in zip(_COLOURS, RULES, strict=False):
        places = [cells.index(run.cell) for run in runs]
        axes.plot([run.ratio(rules) for run in runs], places, "o", color=colour, markersize=3, alpha=0.7, label=rules)
    axes.axvline(1.0, color="#333333", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.invert_yaxis()
    axes.legend(fontsize=7, frameon=False)
    plain(axes, x="throughput to the better of no queues and all queues (simulated)", size=7)
    axes.set_yticks(range(len(cells)), [str(cell) for cell in cells], fontsize=5)
    below = figure.add_subplot(grid[1])
    for colour, rules in zip(_COLOURS, RULES, strict=False):
        own = [run for run in changes if run.rules == rules]
        if own:
            below.plot(own[0].rates_tuples_s, color=colour, linewidth=1, label=rules)
    below.set_yscale("log")
    plain(below, x="period; 10 % heavy operators, then 90 %", y="tuples/s", size=7)
    figure.savefig(path, dpi=150)


def draw_threads(
    overheads: dict[str, OverheadRow], ingestions: Sequence[IngestionRow], grids: Sequence[GridRow], goal: float,
    path: Path,
) -> None:  # fmt: skip
    """Three panels side by side; the file's ending says its format."""
    figure = figure_of(13, 3.6)
    shares, gains, ways = figure.subplots(1, 3)
    _draw_shares(shares, overheads, goal)
    _draw_gains(gains, ingestions)
    ratios = [grid.visibilities_s / grids[0].visibilities_s for grid in grids]
    ways.barh([f"{grid.name} ({grid.threads})" for grid in grids], ratios, color=_COLOURS[0], height=0.6)
    ways.invert_yaxis()
    plain(ways, "one grid on threads: rate to sequential")
    figure.savefig(path, dpi=150)


def _draw_shares(axes: Any, overheads: dict[str, OverheadRow], goal: float) -> None:
    places = range(len(overheads))
    parts = (
        ("outside of operators, threads", [row.outside_share for row in overheads.values()], _COLOURS[0], -0.25),
        ("by calls", [row.calls_share for row in overheads.values()], _GREY, 0.0),
        ("machinery: the difference", [row.machinery_share for row in overheads.values()], _COLOURS[2], 0.25),
    )
    for label, shares, colour, offset in parts:
        axes.bar([place + offset for place in places], [100 * s for s in shares], 0.25, color=colour, label=label)
    axes.axhline(100 * goal, color=_COLOURS[1], linewidth=1, label="goal of the difference")
    axes.set_xticks(list(places), list(overheads))
    axes.set_yscale("symlog", linthresh=1)
    axes.legend(fontsize=7, frameon=False)
    plain(axes, "% of all CPU seconds, thread level 1")


def _draw_gains(axes: Any, ingestions: Sequence[IngestionRow]) -> None:
    names = [f"{row.kind} {row.ingest_ms:g} ms,\noperator {row.work_ms:g} ms" for row in ingestions]
    axes.bar(names, [row.gain.median for row in ingestions], color=_COLOURS[0], width=0.5)
    for place, row in enumerate(ingestions):
        axes.plot([place, place], [row.gain.low, row.gain.high], color="#333333", linewidth=1.2)
    axes.axhline(1.0, color="#333333", linewidth=0.8)
    plain(axes, "gain of a thread apart from ingestion (95 %)")
