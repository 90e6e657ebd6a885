"""The picture of `python -m benchmarks threads`: shares of CPU by load, gains of decoupled ingestion, and grids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.interleaved import PairedRatio
from benchmarks.threads.shared_grid import GridRow
from benchmarks.threads.thread_overhead import IngestionRow, OverheadRow

_OURS, _GREY, _GOAL = "#2a7f62", "#8a94a0", "#c2483d"


def draw_threads(
    overheads: dict[str, OverheadRow], ingestions: Sequence[IngestionRow], grids: Sequence[GridRow], goal: float,
    path: Path,
) -> None:  # fmt: skip
    """Three panels side by side; the file's ending says its format."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 3.6), layout="constrained")
    shares, gains, ways = figure.subplots(1, 3)
    _draw_shares(shares, overheads, goal)
    _draw_gains(gains, ingestions)
    ratios = [grid.visibilities_s / grids[0].visibilities_s for grid in grids]
    ways.barh([f"{grid.name} ({grid.threads})" for grid in grids], ratios, color=_OURS, height=0.6)
    ways.invert_yaxis()
    _plain(ways, "one grid on threads: rate to sequential")
    figure.savefig(path, dpi=150)


def _draw_shares(axes: Any, overheads: dict[str, OverheadRow], goal: float) -> None:
    places = range(len(overheads))
    parts = (
        ("outside of operators, threads", [row.outside_share for row in overheads.values()], _OURS, -0.25),
        ("by calls", [row.calls_share for row in overheads.values()], _GREY, 0.0),
        ("machinery: the difference", [row.machinery_share for row in overheads.values()], "#b8862b", 0.25),
    )
    for label, shares, colour, beside in parts:
        axes.bar([place + beside for place in places], [100 * s for s in shares], 0.25, color=colour, label=label)
    axes.axhline(100 * goal, color=_GOAL, linewidth=1, label="goal of the difference")
    axes.set_xticks(list(places), list(overheads))
    axes.set_yscale("symlog", linthresh=1)
    axes.legend(fontsize=7, frameon=False)
    _plain(axes, "% of all CPU seconds, thread level 1")


def _draw_gains(axes: Any, ingestions: Sequence[IngestionRow]) -> None:
    names = [f"{row.kind} {row.ingest_ms:g} ms,\noperator {row.work_ms:g} ms" for row in ingestions]
    axes.bar(names, [row.gain.median for row in ingestions], color=_OURS, width=0.5)
    for place, row in enumerate(ingestions):
        axes.plot([place, place], _ends(row.gain), color="#333333", linewidth=1.2)
    axes.axhline(1.0, color="#333333", linewidth=0.8)
    _plain(axes, "gain of a thread apart from ingestion (95 %)")


def _ends(ratio: PairedRatio) -> list[float]:
    return [ratio.low, ratio.high]


def _plain(axes: Any, title: str) -> None:
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
