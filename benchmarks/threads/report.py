"""The tables of `python -m benchmarks` elastic-operator, external-load and multilevel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.report import table_of
from benchmarks.threads.elastic_operator import ElasticRun, SideBySide
from benchmarks.threads.external_load import RECOVERY_GOAL, LoadRun
from benchmarks.threads.multilevel import RULES, ChangeRun, MultiLevelRun, SettlingRun

_MOST_COLUMNS = 10
_SHOWN = "median over seeds (worst); simulated: the policy alone; measured: ps.Engine(threads=...)"


def print_elastic(
    console: Console, runs: Sequence[ElasticRun], side_by_side: Sequence[SideBySide], measured: Sequence[SideBySide]
) -> None:
    """A row per load and policy, over all seeds; fixed levels; then operators side by side."""
    columns = ("policy", "best level", "tuples/s there", "level", "ratio to best", "settled after", "changes/min")
    table = table_of(_SHOWN, "load", "", *columns)
    for load, policy in dict.fromkeys((run.load, run.policy) for run in runs):
        own = [run for run in runs if (run.load, run.policy) == (load, policy)]
        first = own[0]
        settled, changes = [run.periods_to_settle for run in own], [run.changes_per_minute for run in own]
        table.add_row(
            load, first.kind, policy, str(first.best_level), f"{first.best_tuples_s:,.0f}",
            f"{median(run.settled_level for run in own):g}", _ratios(run.ratio for run in own),
            f"{median(settled):g} ({max(settled)})", f"{median(changes):.2f} ({max(changes):.2f})",
        )  # fmt: skip
    console.print(table)
    console.print(_static_levels(runs))
    console.print(_side_by_side(side_by_side, "simulated"))
    if measured:
        console.print(_side_by_side(measured, "measured; without a bound bare policies, with it ps.Engine"))


def _static_levels(runs: Sequence[ElasticRun]) -> Table:
    """Where there are many levels, some of them and the best; the JSON has all."""
    title = "tuples/s by fixed level (of many levels some and the best; all are in the JSON)"
    table = table_of(title, "load", "<level: tuples/s")
    for run in {run.load: run for run in runs}.values():
        levels = sorted(run.static_tuples_s)
        shown = levels
        if len(levels) > _MOST_COLUMNS:
            shown = sorted({*(n for n in levels if n.bit_count() == 1), run.best_level, levels[-1]})
        table.add_row(run.load, "  ".join(f"{n}: {short_rate(run.static_tuples_s[n])}" for n in shown))
    return table


def _side_by_side(runs: Sequence[SideBySide], kind: str) -> Table:
    columns = ("policy", "bound", "total to best even setting", "fairness (Jain)", "levels")
    table = table_of(f"four operators on the same cores ({kind})", "cores", *columns)
    for run in runs:
        bound = "fair share" if run.fair else "none"
        levels = ", ".join(map(str, run.levels))
        table.add_row(str(run.cores), run.policy, bound, f"{run.ratio:.3f}", f"{run.fairness:.3f}", levels)
    return table


def print_load(console: Console, runs: Sequence[LoadRun]) -> None:
    """A row per load, policy and phase, over all seeds."""
    ratios = ("ratio to best", f"after {RECOVERY_GOAL} periods")
    table = table_of(_SHOWN, "load", "", "policy", "cores taken", "best level", "level", *ratios, "back after")
    for load, policy in dict.fromkeys((run.load, run.policy) for run in runs):
        own = [run for run in runs if (run.load, run.policy) == (load, policy)]
        for number, first in enumerate(own[0].phases):
            phases = [run.phases[number] for run in own]
            table.add_row(
                load, own[0].kind, policy, str(first.phase.taken_cores), str(first.best_level),
                f"{median(phase.level for phase in phases):g}", _ratios(phase.ratio for phase in phases),
                _ratios(phase.ratio_once_back for phase in phases),
                _periods(phase.recovery_periods for phase in phases),
            )  # fmt: skip
    console.print(table)


def _ratios(ratios: Iterable[float]) -> str:
    known = list(ratios)
    return f"{median(known):.3f} ({min(known):.3f})"


def _periods(periods: Iterable[int | None]) -> str:
    known = list(periods)
    back = [period for period in known if period is not None]
    if not back:
        return "never"
    never = len(known) - len(back)
    return f"{median(back):g} ({max(back)})" + (f", {never} never" if never else "")


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
