"""The tables of `python -m benchmarks elastic-operator` and `python -m benchmarks external-load`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.report import table_of
from benchmarks.threads.elastic_operator import ElasticRun, SideBySide
from benchmarks.threads.external_load import RECOVERY_GOAL, LoadRun
from benchmarks.threads.multilevel_report import short_rate

_MOST_COLUMNS = 10
_SHOWN = "median over seeds (worst); simulated: the policy alone; measured: ps.Engine(threads=...)"


def print_elastic(
    console: Console,
    runs: Sequence[ElasticRun],
    side_by_side: Sequence[SideBySide],
    measured: Sequence[SideBySide] = (),
) -> None:
    """A row per load and policy, over all seeds; fixed levels; then operators side by side."""
    columns = ("policy", "best level", "tuples/s there", "level", "ratio to best", "settled after", "changes/min")
    table = table_of(_SHOWN, "load", "", *columns)
    for load, policy in dict.fromkeys((run.load, run.policy) for run in runs):
        own = [run for run in runs if (run.load, run.policy) == (load, policy)]
        first = own[0]
        ratios, settled = [run.ratio for run in own], [run.periods_to_settle for run in own]
        changes = [run.changes_per_minute for run in own]
        table.add_row(
            load, first.kind, policy, str(first.best_level), f"{first.best_tuples_s:,.0f}",
            f"{median(run.settled_level for run in own):g}", f"{median(ratios):.3f} ({min(ratios):.3f})",
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
