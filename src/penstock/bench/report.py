"""The report of a run: a table for people, one JSON object for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.bench.machine import Machine
from penstock.bench.measurement import Effort, Measurement

_MILLION = 1e6


def print_report(console: Console, results: Sequence[Measurement], machine: Machine, effort: Effort) -> None:
    """Prints machine, conditions, table, and how many goals were reached."""
    console.print(str(machine), soft_wrap=True, highlight=False)
    console.print(
        f"one thread, blocks of 8,192 tuples, seed {effort.seed}, {effort.rounds} rounds of {effort.round_s:g} s; "
        "ours and limit in turns over the same blocks; ratio = median over rounds (lowest-highest); "
        "peers: whole data as one batch; seconds by the CPU clock of the thread (peers: of the process)",
        soft_wrap=True,
        highlight=False,
    )
    console.print(_table(results))
    judged = [result for result in results if result.reaches_goal is not None]
    missed = [f"{result.case.name} ({result.ratio:.3f})" for result in judged if not result.reaches_goal]
    console.print(f"{len(judged) - len(missed)} of {len(judged)} goals reached", highlight=False)
    if missed:
        console.print("missed: " + ", ".join(missed), soft_wrap=True, highlight=False)


def summary(results: Sequence[Measurement], machine: Machine, effort: Effort) -> dict[str, Any]:
    """The JSON object; a figure whose cases did not run is null."""
    judged_windows = [r for r in results if r.case.family in ("window", "join") and r.case.goal_ratio is not None]
    vwap = [r for r in results if r.case.family == "vwap" and r.case.goal_ratio is not None]
    return {
        "bench": "kernels",
        "vwap_ratio_to_limit": _worst(r for r in vwap if r.case.key_type != "string"),
        "vwap_strings_ratio_to_limit": _worst(r for r in vwap if r.case.key_type == "string"),
        "worst_window_ratio_to_limit": _worst(judged_windows),
        "sliding_1000_ratio_to_limit": _worst(r for r in judged_windows if r.case.name.startswith("sliding_1000_")),
        "tuples_s": {r.case.name: round(median(r.ours_tuples_s)) for r in results},
        "limit_tuples_s": {r.case.name: round(median(r.limit_tuples_s)) for r in results},
        "ratio_to_limit": {r.case.name: _spread(r.ratios) for r in results},
        "peers_tuples_s": {r.case.name: {name: round(x) for name, x in r.peers_tuples_s.items()} for r in results},
        "goals_missed": [r.case.name for r in results if r.reaches_goal is False],
        "block_rows": {r.case.name: r.case.block_rows for r in results if r.case.block_rows != 8192},
        "rounds": effort.rounds,
        "round_s": effort.round_s,
        "seed": effort.seed,
        "machine": machine.to_json(),
        "versions": dict(machine.versions),
    }


def _table(results: Sequence[Measurement]) -> Table:
    table = Table(caption="M tuples/s", caption_justify="left")
    table.add_column("case", no_wrap=True)
    for name in ("ours", "limit"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("ratio", "goal", "polars", "duckdb"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("note")
    for result in results:
        ours, limit = median(result.ours_tuples_s), median(result.limit_tuples_s)
        cells = (_millions(ours), _millions(limit), _ratio(result), _goal(result), *_peers(result), _note(result))
        table.add_row(result.case.name, *cells)
    return table


def _ratio(result: Measurement) -> str:
    return f"{result.ratio:.2f} ({min(result.ratios):.2f}-{max(result.ratios):.2f})"


def _goal(result: Measurement) -> str:
    if result.case.goal_ratio is None:
        return "-"
    return f"{result.case.goal_ratio:.2f} " + ("[green]✓[/]" if result.reaches_goal else "[red]✗[/]")


def _peers(result: Measurement) -> tuple[str, str]:
    rates = result.peers_tuples_s
    return tuple(_millions(rates[name]) if name in rates else "-" for name in ("polars", "duckdb"))  # type: ignore[return-value]


def _note(result: Measurement) -> str:
    return "; ".join(text for text in (result.case.note, result.why_no_peer) if text)


def _millions(rate_tuples_s: float) -> str:
    millions = rate_tuples_s / _MILLION
    return f"{millions:.0f}" if millions >= 100 else f"{millions:.1f}" if millions >= 10 else f"{millions:.2f}"


def _worst(results: Iterable[Measurement]) -> float | None:
    ratios = [result.ratio for result in results]
    return round(min(ratios), 4) if ratios else None


def _spread(ratios: Sequence[float]) -> dict[str, float]:
    return {"median": round(median(ratios), 4), "lowest": round(min(ratios), 4), "highest": round(max(ratios), 4)}
