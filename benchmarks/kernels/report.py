"""The report of a run: a table for people, one JSON object for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.kernels.measurement import Effort, Measurement
from benchmarks.machine import Machine
from benchmarks.pictures import figure_of, plain
from benchmarks.report import table_of

_MILLION = 1e6
_LEGEND = (
    "kernel: the kernel alone on the arrays the limit gets (dense key ids, merged ports); operator: keys to ids, "
    "kernel and all else, block in, block out; keys: keys to ids alone; the goal of windows and joins is the kernel's"
)
_AXIS = (
    "tuples/s as a share of the limit (bar: kernel where it is judged, dot then: whole operator); "
    "whiskers: lowest to highest round; black mark: goal"
)
_REACHED, _MISSED, _UNJUDGED = "#2a7f62", "#c2483d", "#8a94a0"


def print_report(console: Console, results: Sequence[Measurement], machine: Machine, effort: Effort) -> None:
    """Prints machine, conditions, table, and how many goals were reached."""
    console.print(str(machine), soft_wrap=True)
    console.print(
        f"one thread, blocks of 8,192 tuples, seed {effort.seed}, {effort.rounds} rounds of {effort.round_s:g} s; "
        "ours and limit in turns over the same blocks; ratio to limit = median over rounds (lowest-highest); "
        "peers: whole data as one batch; seconds by the CPU clock of the thread (peers: of the process)",
        soft_wrap=True,
    )
    console.print(_LEGEND, soft_wrap=True)
    console.print(_table(results))
    judged = [result for result in results if result.reaches_goal is not None]
    missed = [f"{result.case.name} ({result.ratio:.3f})" for result in judged if not result.reaches_goal]
    console.print(f"{len(judged) - len(missed)} of {len(judged)} goals reached")
    if missed:
        console.print("missed: " + ", ".join(missed), soft_wrap=True)


def summary(results: Sequence[Measurement], effort: Effort) -> dict[str, Any]:
    """The JSON object; a figure whose cases did not run is null."""
    windows = [r for r in results if r.case.family in ("window", "join") and r.case.goal_ratio is not None]
    vwap = [r for r in results if r.case.family == "vwap" and r.case.goal_ratio is not None]
    long_windows = [r for r in windows if r.case.name.startswith("sliding_1000_")]
    return {
        "bench": "kernels",
        "vwap_ratio_to_limit": _worst(r.ratios for r in vwap if r.case.key_type != "string"),
        "vwap_strings_ratio_to_limit": _worst(r.ratios for r in vwap if r.case.key_type == "string"),
        "worst_window_ratio_to_limit": _worst(r.ratios for r in windows),
        "worst_window_operator_ratio_to_limit": _worst(r.operator_ratios for r in windows),
        "sliding_1000_ratio_to_limit": _worst(r.ratios for r in long_windows),
        "sliding_1000_operator_ratio_to_limit": _worst(r.operator_ratios for r in long_windows),
        "tuples_s": {r.case.name: _rate(r.operator_tuples_s) for r in results},
        "kernel_tuples_s": {r.case.name: _rate(r.kernel_tuples_s) for r in results if r.kernel_tuples_s},
        "lookup_tuples_s": {r.case.name: _rate(r.lookup_tuples_s) for r in results if r.lookup_tuples_s},
        "limit_tuples_s": {r.case.name: _rate(r.limit_tuples_s) for r in results},
        "ratio_to_limit": {r.case.name: _levels(r) for r in results},
        "peers_tuples_s": {r.case.name: {name: round(x) for name, x in r.peers_tuples_s.items()} for r in results},
        "goals_missed": [r.case.name for r in results if r.reaches_goal is False],
        "block_rows": {r.case.name: r.case.block_rows for r in results if r.case.block_rows != 8192},
        "rounds": effort.rounds,
        "round_s": effort.round_s,
        "seed": effort.seed,
    }


def _table(results: Sequence[Measurement]) -> Table:
    columns = ("kernel", "operator", "limit", "kernel/limit", "operator/limit", "goal", "keys", "polars", "duckdb")
    table = table_of("M tuples/s", "case", *columns, "<note")
    for result in results:
        rates = (result.kernel_tuples_s, result.operator_tuples_s, result.limit_tuples_s)
        ratios = (result.kernel_ratios, result.operator_ratios)
        cells = (*map(_millions, rates), *map(_spread_text, ratios), _goal(result), _millions(result.lookup_tuples_s))
        table.add_row(result.case.name, *cells, *_peers(result), _note(result))
    return table


def _spread_text(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})" if ratios else "-"


def _goal(result: Measurement) -> str:
    if result.case.goal_ratio is None:
        return "-"
    return f"{result.case.goal_ratio:.2f} " + ("[green]✓[/]" if result.reaches_goal else "[red]✗[/]")


def _peers(result: Measurement) -> list[str]:
    rates = result.peers_tuples_s
    return [_millions([rates[name]] if name in rates else []) for name in ("polars", "duckdb")]


def _note(result: Measurement) -> str:
    return "; ".join(text for text in (result.case.note, result.why_no_peer) if text)


def _millions(rates_tuples_s: Sequence[float]) -> str:
    if not rates_tuples_s:
        return "-"
    millions = median(rates_tuples_s) / _MILLION
    return f"{millions:.0f}" if millions >= 100 else f"{millions:.1f}" if millions >= 10 else f"{millions:.2f}"


def _rate(rates_tuples_s: Sequence[float]) -> int:
    return round(median(rates_tuples_s))


def _worst(ratios: Iterable[Sequence[float]]) -> float | None:
    medians = [median(by_round) for by_round in ratios]
    return round(min(medians), 4) if medians else None


def _levels(result: Measurement) -> dict[str, dict[str, float]]:
    levels = {"kernel": result.kernel_ratios, "operator": result.operator_ratios}
    return {level: _spread(ratios) for level, ratios in levels.items() if ratios}


def _spread(ratios: Sequence[float]) -> dict[str, float]:
    return {"median": round(median(ratios), 4), "lowest": round(min(ratios), 4), "highest": round(max(ratios), 4)}


def draw(results: Sequence[Measurement], machine: Machine, path: Path) -> None:
    """Writes the picture; the file's ending says its format."""
    figure = figure_of(9, 1.6 + 0.24 * len(results))
    axes = figure.add_subplot()
    places = range(len(results))
    ratios = [result.ratio for result in results]
    spread = [[r.ratio - min(r.ratios) for r in results], [max(r.ratios) - r.ratio for r in results]]
    axes.barh(places, ratios, xerr=spread, color=[_colour(r) for r in results], height=0.7, ecolor="#333333")
    for place, result in enumerate(results):
        if result.kernel_ratios:  # where the bar is the kernel's
            axes.plot(
                median(result.operator_ratios), place, "o", color="white", markeredgecolor="#333333", markersize=4
            )
        if result.case.goal_ratio is not None:
            axes.plot([result.case.goal_ratio] * 2, [place - 0.42, place + 0.42], color="black", linewidth=1.6)
    axes.set_yticks(list(places), [result.case.name for result in results], fontsize=8)
    axes.invert_yaxis()
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.axvline(1.0, color="#333333", linewidth=0.8)
    plain(axes, f"python -m benchmarks kernels, one thread, on {machine.processor}", _AXIS)
    figure.savefig(path, dpi=150)


def _colour(result: Measurement) -> str:
    if result.reaches_goal is None:
        return _UNJUDGED
    return _REACHED if result.reaches_goal else _MISSED
