"""The report of `python -m benchmarks migrate`: a table, notes, figures and a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.pictures import figure_of, plain
from benchmarks.report import table_of
from benchmarks.spark.batches import Spread
from benchmarks.spark.migrate.migrate import RESTART, WAYS, MigrateResult
from benchmarks.spark.migrate.migrate_change import Change
from benchmarks.spark.migrate.migrate_scene import FEW, MANY, MigrateEffort
from penstock.runtime.migration.migration import PRE_COPY, REPLICAS_WAIT, SPLITTER_HOLDS

_NAMES = {PRE_COPY: "ours", REPLICAS_WAIT: "r_blk", SPLITTER_HOLDS: "s_blk", RESTART: "restart"}
_COLOURS = {PRE_COPY: "#2a7f62", REPLICAS_WAIT: "#c2483d", SPLITTER_HOLDS: "#3b6ea8", RESTART: "#8a94a0"}
_FIGURES: dict[str, Callable[[Change], float]] = {
    "worst_gap_ms": lambda c: c.gap_ms,
    "moved_worst_ms": lambda c: c.moved.worst_ms,
    "moved_p99_ms": lambda c: c.moved.p99_ms,
    "unmoved_worst_ms": lambda c: c.unmoved.worst_ms,
    "unmoved_p99_ms": lambda c: c.unmoved.p99_ms,
    "switched_after_s": lambda c: c.switched_after_s,
}


def spread_of(result: MigrateResult, way: str, figure: str) -> Spread:
    return Spread.of([_FIGURES[figure](change) for change in result.changes if change.way == way])


def unmoved_p99_ratio(result: MigrateResult) -> float:
    """Latency of keys that stay, after a change of ours to before it: the median over runs."""
    own = [c.unmoved for c in result.changes if c.way == PRE_COPY and c.unmoved.steady_p99_ms > 0]
    return median(kind.p99_ms / kind.steady_p99_ms for kind in own)


def is_best(result: MigrateResult) -> bool:
    """Whether even the worst of ours is better than the best of each other way."""
    others = [spread_of(result, way, "worst_gap_ms").lowest for way in WAYS if way != PRE_COPY]
    return spread_of(result, PRE_COPY, "worst_gap_ms").highest < min(others)


def migrate_figures(result: MigrateResult, effort: MigrateEffort) -> dict[str, Any]:
    found: dict[str, Any] = {"bench": "migrate"}
    for way, name in _NAMES.items():
        found[f"{name}_worst_gap_ms"] = round(spread_of(result, way, "worst_gap_ms").median, 1)
    found |= {
        "unmoved_p99_ratio": round(unmoved_p99_ratio(result), 3),
        "exact": result.is_exact,
        "ours_best_by_more_than_the_spread": is_best(result),
        "moved_bytes": result.moved_bytes,
        "state_bytes": result.state_bytes,
        "moved_keys_ratio": round(result.moved_keys_ratio, 3),
        "tuples": result.tuples,
        "low_tuples_s": effort.low_tuples_s,
        "runs": effort.runs,
        "by_way": {
            name: {figure: spread_of(result, way, figure).to_json() for figure in _FIGURES}
            for way, name in _NAMES.items()
        },
    }
    return found


def migrate_tables(result: MigrateResult) -> list[Table]:
    table = table_of(
        f"{FEW} to {MANY} replicas, load {FEW} : {MANY}; median (lowest-highest) over runs; gap: the longest time "
        "without results of keys that change host, of those that change replica, or of others",
        "s", "gap", "moved: worst", "p99", "others: worst", "p99", "in force after",
    )  # fmt: skip
    for way in WAYS:
        table.add_row(way, *(_cell(_seconds(result, way, figure)) for figure in _FIGURES))
    return [table]


def migrate_notes(result: MigrateResult) -> list[str]:
    best = "even the worst of ours is better than the best of the others" if is_best(result) else "within the spread"
    return [
        f"{result.moved_keys_ratio:.0%} of the keys change replica, {result.moved_bytes / 1e9:.2f} of "
        f"{result.state_bytes / 1e9:.2f} GB of state change host at each change",
        f"gap: {best}; keys that stay: p99 {unmoved_p99_ratio(result):.2f} times that of the steady time before; "
        f"results {'equal' if result.is_exact else 'DIFFERENT'} over {result.tuples:,} tuples",
    ]


def draw_migrate(result: MigrateResult, path: Path) -> None:
    """The worst latency of each micro-batch around a change, of one run of each way."""
    figure = figure_of(9, 5)
    moved, others = figure.subplots(2, 1, sharex=True, sharey=True)
    for way in WAYS:
        line = _middle([c for c in result.changes if c.way == way]).line
        for axes, place in ((moved, 1), (others, 2)):
            points = [(own[0], own[place]) for own in line if own[place] > 0]
            axes.plot(*zip(*points, strict=True), ".-", color=_COLOURS[way], label=way, linewidth=1.2, markersize=3)
    for axes in (moved, others):
        axes.set_yscale("log")
        axes.axvline(0.0, color="#333333", linewidth=0.8)
    plain(moved, "keys that move: worst latency of each micro-batch (ms)")
    plain(others, "other keys: worst latency of each micro-batch (ms)", "s since the change was asked for")
    moved.legend(fontsize=8, frameon=False, ncols=4)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def _middle(changes: Sequence[Change]) -> Change:
    """The change whose gap is the median."""
    return sorted(changes, key=lambda change: change.gap_ms)[len(changes) // 2]


def _seconds(result: MigrateResult, way: str, figure: str) -> Spread:
    spread, ratio = spread_of(result, way, figure), 1000 if figure.endswith("_ms") else 1
    return Spread(spread.median / ratio, spread.lowest / ratio, spread.highest / ratio)


def _cell(spread: Spread) -> str:
    return f"{spread.median:.2f} ({spread.lowest:.2f}-{spread.highest:.2f})"
