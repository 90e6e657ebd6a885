"""The tables of `python -m benchmarks multilevel`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.console import Console

from benchmarks.report import table_of
from benchmarks.threads.multilevel import RULES, ChangeRun, MultiLevelRun, SettlingRun


def print_graphs(console: Console, runs: Sequence[MultiLevelRun], title: str, kind: str = "simulated") -> None:
    """A row per case over all seeds: the simple ways, and each set of rules relative to the better of them."""
    exhaustive = runs[0].exhaustive_tuples_s is not None
    tried = runs[0].tried is not None
    names = ["no queues", "all queues", *(["exhaustive"] if exhaustive else []), *(["tried"] if tried else [])]
    names += [part for rules in RULES for part in (rules, "threads", "queues", "periods")]
    table = table_of(f"{title}; median over seeds (worst)", f"case ({kind})", *names)
    for cell in dict.fromkeys(run.cell for run in runs):
        own = [run for run in runs if run.cell == cell]
        best = [short_rate(median(run.exhaustive_tuples_s or 0.0 for run in own))] if exhaustive else []
        best += ["{:,} of {:,}".format(*own[0].tried)] if own[0].tried else []
        table.add_row(
            str(cell), short_rate(median(run.manual_tuples_s for run in own)),
            short_rate(median(run.threads_only_tuples_s for run in own)), *best,
            *(text for rules in RULES for text in _found(own, rules, exhaustive)),
        )  # fmt: skip
    console.print(table)


def _found(runs: Sequence[MultiLevelRun], rules: str, exhaustive: bool) -> list[str]:
    ratios = [run.ratio_to_exhaustive(rules) if exhaustive else run.ratio(rules) for run in runs]
    found = [run.found[rules] for run in runs]
    periods = [one.periods for one in found if one.periods is not None]
    return [
        f"{median(ratios):.2f} ({min(ratios):.2f})", f"{median(one.threads for one in found):g}",
        f"{median(one.queues for one in found):g}", f"{median(periods):g} ({max(periods)})" if periods else "never",
    ]  # fmt: skip


def print_settling(console: Console, runs: Sequence[SettlingRun]) -> None:
    """Periods to settle by which optimisations are on."""
    variants = list(runs[0].periods)
    title = "periods to settle, 500 operators (simulated)"
    table = table_of(title, "case", "rules", *variants, "both / neither")
    for cell, rules in dict.fromkeys((run.cell, run.rules) for run in runs):
        own = [run for run in runs if (run.cell, run.rules) == (cell, rules)]
        middle = {name: median(run.periods[name] or float("inf") for run in own) for name in variants}
        ratio = middle["both"] / middle["neither"]
        table.add_row(str(cell), rules, *(f"{middle[name]:g}" for name in variants), f"{ratio:.2f}")
    console.print(table)


def print_changes(console: Console, runs: Sequence[ChangeRun], where: str = "simulated, 88 cores") -> None:
    """Adaptation to a changed workload, a row per run."""
    columns = ("seed", "before", "right after", "adapted", "periods", "threads", "queues")
    table = table_of(f"10 % heavy operators become 90 % ({where})", "rules", *columns)
    for run in runs:
        middle = len(run.levels) // 2 - 1
        table.add_row(
            run.rules, str(run.seed), f"{run.ratio_before:.2f}", f"{run.ratio_unadapted:.2f}", f"{run.ratio_after:.2f}",
            "never" if run.periods is None else str(run.periods), f"{run.levels[middle]} -> {run.levels[-1]}",
            f"{run.queues[middle]} -> {run.queues[-1]}",
        )  # fmt: skip
    console.print(table)


def short_rate(rate: float) -> str:
    """`1.25 M`, for tables."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{rate / size:.3g} {unit}"
    return f"{rate:.3g}"
