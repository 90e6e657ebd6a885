"""What rows of the twin say: means with 95 % intervals, and in how many cases MPC keeps its goal and uses the least."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from itertools import product
from math import sqrt
from statistics import mean, stdev
from typing import Any

from rich.console import Console

from benchmarks.report import table_of
from benchmarks.saso.twin_engine import Row

_T95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 12: 2.20, 15: 2.14, 20: 2.09}
_NEAR_ORACLE = 1.10


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half of its 95 % interval (Student's t)."""
    if len(values) < 2:
        return mean(values), float("nan")
    known = max((n for n in _T95 if n <= len(values)), default=2)
    t = _T95[known] if len(values) <= 30 else 1.96
    return mean(values), t * stdev(values) / sqrt(len(values))


def judged(rows: Sequence[Row], restart_s: float, mpc: str = "mpc") -> dict[str, Any]:
    """MPC beside rivals with one restart time, over all cases; `static_kept`: what all replicas would reach by chance.

    Replicas are compared with rivals that keep the goal as well as MPC does, or as is asked of it.
    """
    by_case: dict[tuple[str, str, str, int], list[Row]] = defaultdict(list)
    for row in rows:
        if row.kind != "rival" or row.restart_s == restart_s:
            by_case[row.case].append(row)
    met = lucky = fewest = near = 0
    over: list[float] = []
    for own in by_case.values():
        ours = next(row for row in own if row.policy == mpc)
        oracle = next(row for row in own if row.kind == "oracle")
        others = [row for row in own if row.kind == "rival"]
        allowed = min(row.violations for row in others) + 1
        met += ours.violations <= allowed
        lucky += any(row.violations <= allowed for row in own if row.kind == "luck")
        keeping = [row for row in others if row.violations <= max(allowed, ours.violations)]
        fewest += all(ours.mean_replicas < row.mean_replicas for row in keeping)
        near += ours.mean_replicas <= _NEAR_ORACLE * oracle.mean_replicas
        over.append(ours.mean_replicas / oracle.mean_replicas)
    number = len(by_case)
    return {
        "restart_s": restart_s, "cases": number, "goal_kept": met / number,
        "static_kept": lucky / number, "fewest_replicas": fewest / number,
        "within_10_percent_of_oracle": near / number, "replicas_over_oracle": mean(over),
        "mpc_violations": mean(r.violations for r in rows if r.policy == mpc),
        "mpc_replicas": mean(r.mean_replicas for r in rows if r.policy == mpc),
    }  # fmt: skip


def over_seeds(rows: Iterable[Row]) -> list[Row]:
    """One row for all seeds of a case, with means: where a task straggles by chance counts less in them."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.trace, row.application, row.goal, row.restart_s, row.policy].append(row)
    return [
        replace(
            own[0], seed=0, violations=mean(row.violations for row in own), p95_violations=None,
            mean_replicas=mean(row.mean_replicas for row in own),
            reconfigurations=mean(row.reconfigurations for row in own),
            mean_latency_s=mean(row.mean_latency_s for row in own), forecast_error=None,
        )
        for own in groups.values()
    ]  # fmt: skip


def by_policy(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Means over seeds with intervals, by trace, application, goal, restart and policy."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.trace, row.application, row.goal, row.restart_s, row.policy].append(row)
    found = []
    for (trace, application, goal, restart_s, policy), own in groups.items():
        figures: dict[str, Any] = {}
        read: dict[str, Callable[[Row], float]] = {
            "violations": lambda r: r.violations, "mean_replicas": lambda r: r.mean_replicas,
            "reconfigurations": lambda r: r.reconfigurations, "mean_latency_s": lambda r: r.mean_latency_s,
        }  # fmt: skip
        for name, value in read.items():
            middle, half = interval([value(row) for row in own])
            figures |= {name: middle, f"{name}_half_95": None if half != half else half}
        found.append({"trace": trace, "application": application, "goal": goal, "restart_s": restart_s,
                      "policy": policy, "seeds": len(own), **figures})  # fmt: skip
    return found


def print_twin(console: Console, rows: Sequence[Row], restarts_s: Sequence[float]) -> None:
    names = ("policy", "restart (s)", "violations (s)", "replicas", "changes")
    table = table_of("policies on the twin: means over all cases", *names)
    for policy in dict.fromkeys(row.policy for row in rows):
        for restart_s in dict.fromkeys((0.0, *restarts_s)):
            own = [row for row in rows if row.policy == policy and row.restart_s == restart_s]
            if own:
                cells = [interval([float(v) for v in values]) for values in (
                    [row.violations for row in own], [row.mean_replicas for row in own],
                    [row.reconfigurations for row in own])]  # fmt: skip
                table.add_row(policy, f"{restart_s:g}", *(f"{m:.2f} ± {h:.2f}" for m, h in cells))
    console.print(table)
    seeds = len({row.seed for row in rows})
    for restart_s, means in product(restarts_s, (False, True) if seeds > 1 else (False,)):
        found = judged(over_seeds(rows) if means else rows, restart_s)
        of = f", means over {seeds} seeds" if means else ""
        console.print(
            f"restarts of {restart_s:g} s{of}: MPC breaks its goal at most as often as the best rival plus one in "
            f"{found['goal_kept']:.0%} of {found['cases']} cases (all replicas, with other draws of chance: "
            f"{found['static_kept']:.0%}), has the fewest replicas of all published rivals in "
            f"{found['fewest_replicas']:.0%}, is within 10 % of the oracle's in "
            f"{found['within_10_percent_of_oracle']:.0%}",
            soft_wrap=True,
        )


def summary(rows: Sequence[Row], restarts_s: Sequence[float]) -> dict[str, Any]:
    return {
        "engine": "twin", "judged": [judged(rows, restart_s) for restart_s in restarts_s],
        "judged_over_seeds": [judged(over_seeds(rows), restart_s) for restart_s in restarts_s],
        "by_policy": by_policy(rows), "rows": [asdict(row) for row in rows],
    }  # fmt: skip
