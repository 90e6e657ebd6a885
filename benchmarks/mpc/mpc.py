"""Benchmark `mpc`: how long an optimisation takes and how much it looks at, by method, and that all agree."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

from rich.console import Console

from benchmarks.machine import Machine
from benchmarks.mpc.branch_and_bound import solve_branch, solve_branch_backlog
from benchmarks.mpc.mpc_exhaustive import first_costs, outcomes
from benchmarks.mpc.mpc_problems import LIVE_SIZES, SIZES, Size, chance_problems, problems
from benchmarks.report import table_of
from penstock.control.mpc.backlog import as_tables, solve_backlog
from penstock.control.mpc.chance import ChanceProblem, solve_chance
from penstock.control.mpc.dynamic import solve_dynamic
from penstock.control.mpc.problem import BacklogProblem, Solution

HORIZONS = (1, 2, 3, 5, 10)
GOALS_MS = {3: 0.3, 10: 1.0}  # at 108 settings
BACKLOG = "dynamic programming, backlog"
CHANCES, ALL_CHANCES = "dynamic programming, chances", "exhaustive, chances"
LIVE_HORIZONS = (1, 2, 3, 10)
_MOST_OUTCOMES = 30_000_000  # some seconds for a problem; more than that and a tree is not searched
_SAME = 1e-9
_MOST_NODES = 3_000_000  # more than that and a tree is not searched


P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class MpcEffort:
    """How many problems per strategy, and how often each is solved."""

    problems: int = 5
    repeats: int = 20
    seed: int = 1


QUICK = MpcEffort(problems=2, repeats=5)


@dataclass(frozen=True, slots=True)
class Row:
    """One method at one horizon: median and highest time of a solution, nodes looked at, and its distance to the best.

    `excess` is the worst (cost / least cost - 1) over all problems; None where the least cost is not known.
    """

    size: str
    horizon: int
    method: str
    states: int
    explored: float
    median_ms: float
    highest_ms: float
    excess: float | None


def time_ms(solve: Callable[[P], Solution], problem: P, repeats: int) -> float:
    """The median of so many."""
    spent = []
    for _ in range(repeats):
        begin = time.perf_counter()
        solve(problem)
        spent.append((time.perf_counter() - begin) * 1000)
    return median(spent)


@dataclass(frozen=True, slots=True)
class _Method:
    """A way to solve a problem; its own preparation counts."""

    name: str
    solve: Callable[[BacklogProblem], Solution]
    carries_backlog: bool
    tree: bool


_METHODS = (
    _Method("exhaustive", lambda p: solve_branch(as_tables(p), bound=False), False, True),
    _Method("branch and bound", lambda p: solve_branch(as_tables(p)), False, True),
    _Method("dynamic programming", lambda p: solve_dynamic(as_tables(p)), False, False),
    _Method("exhaustive, backlog", lambda p: solve_branch_backlog(p, bound=False), True, True),
    _Method("branch and bound, backlog", solve_branch_backlog, True, True),
    _Method(BACKLOG, solve_backlog, True, False),
)


def measure(effort: MpcEffort, sizes: Sequence[Size] = SIZES, horizons: Sequence[int] = HORIZONS) -> list[Row]:
    """Every method at every size and horizon where it ends within seconds."""
    rows: list[Row] = []
    for size in sizes:
        for horizon in horizons:
            chosen = problems(size.grid, horizon, effort.problems, effort.seed)
            for backlog in (False, True):
                rows += _rows(size, horizon, chosen, backlog, effort)
    return rows


def _rows(size: Size, horizon: int, chosen: Sequence[BacklogProblem], backlog: bool, effort: MpcEffort) -> list[Row]:
    states = len(size.grid) ** horizon
    methods = [
        m for m in _METHODS
        if m.carries_backlog == backlog and (not m.tree or states <= (_MOST_NODES if horizon > 1 else states))
    ]  # fmt: skip
    results = [_measured(method, chosen, effort) for method in methods]
    exact = next((costs for method, (costs, _, _) in zip(methods, results, strict=True) if method.tree), None)
    rows = []
    for method, (costs, explored, times_ms) in zip(methods, results, strict=True):
        excess = None
        if exact is not None:
            excess = max(cost / best - 1 for cost, best in zip(costs, exact, strict=True))
        rows.append(
            Row(size.name, horizon, method.name, states, median(explored), median(times_ms), max(times_ms), excess)
        )
    return rows


def _measured(
    method: _Method, chosen: Sequence[BacklogProblem], effort: MpcEffort
) -> tuple[list[float], list[int], list[float]]:
    """Costs, nodes, and the median time of each problem."""
    method.solve(chosen[0])  # compiles
    costs, explored, times_ms = [], [], []
    for problem in chosen:
        solution = method.solve(problem)
        costs.append(problem.cost(solution.trajectory) if method.carries_backlog else solution.cost)
        explored.append(solution.explored)
        times_ms.append(time_ms(method.solve, problem, 1 if method.tree and len(chosen) > 1 else effort.repeats))
    return costs, explored, times_ms


def measure_live(
    effort: MpcEffort, sizes: Sequence[Size] = LIVE_SIZES, horizons: Sequence[int] = LIVE_HORIZONS
) -> list[Row]:
    """Dynamic programming at every size and horizon, exhaustive search where it ends within seconds."""
    rows = []
    for size in sizes:
        for horizon in horizons:
            rows += _live_rows(size, horizon, chance_problems(size.grid, horizon, effort.problems, effort.seed), effort)
    return rows


def _live_rows(size: Size, horizon: int, chosen: Sequence[ChanceProblem], effort: MpcEffort) -> list[Row]:
    states = len(size.grid) ** horizon
    explored = median(solve_chance(problem).explored for problem in chosen)  # compiles, too
    repeats = max(effort.repeats * len(LIVE_SIZES[0].grid) // len(size.grid), 1)
    times_ms = [time_ms(solve_chance, problem, repeats) for problem in chosen]
    if outcomes(chosen[0]) > _MOST_OUTCOMES:
        return [Row(size.name, horizon, CHANCES, states, explored, median(times_ms), max(times_ms), None)]
    first_costs(chance_problems(size.grid, 1, 1, effort.seed)[0])  # compiles
    trees = [_exhaustive(problem) for problem in chosen]
    tree_ms, excess = [ms for ms, _ in trees], max(excess for _, excess in trees)
    return [
        Row(size.name, horizon, ALL_CHANCES, states, outcomes(chosen[0]), median(tree_ms), max(tree_ms), 0.0),
        Row(size.name, horizon, CHANCES, states, explored, median(times_ms), max(times_ms), excess),
    ]


def _exhaustive(problem: ChanceProblem) -> tuple[float, float]:
    """How long it takes to try everything (ms), and what our first setting costs beyond the best one, as a share."""
    begin_s = time.perf_counter()
    costs = first_costs(problem)
    took_ms = 1000 * (time.perf_counter() - begin_s)
    return took_ms, float(costs[solve_chance(problem).trajectory[0]] / costs.min() - 1)


def same_optimum(rows: Sequence[Row]) -> bool:
    """Whether every exact method found the least cost wherever it is known."""
    exact = [row for row in rows if row.method not in (BACKLOG, ALL_CHANCES, CHANCES) and row.excess is not None]
    return bool(exact) and all(abs(row.excess or 0.0) <= _SAME for row in exact)


def summary(rows: Sequence[Row], effort: MpcEffort) -> dict[str, Any]:
    """The JSON object."""
    small = {(row.horizon, row.method): row for row in rows if row.size == SIZES[0].name}
    gaps = [row.excess for row in rows if row.method == BACKLOG and row.excess is not None]
    live = [row for row in rows if row.method == CHANCES]

    def dp_ms(horizon: int, method: str = "dynamic programming") -> float | None:
        row = small.get((horizon, method))
        return None if row is None else round(row.median_ms, 4)

    return {
        "bench": "mpc",
        "dp_h3_ms": dp_ms(3),
        "dp_h10_ms": dp_ms(10),
        "same_optimum": same_optimum(rows),
        "dp_backlog_h3_ms": dp_ms(3, BACKLOG),
        "dp_backlog_h10_ms": dp_ms(10, BACKLOG),
        "dp_backlog_worst_excess": round(max(gaps), 6) if gaps else None,
        "branch_and_bound_h3_ms": dp_ms(3, "branch and bound"),
        "live_ms": {row.size: round(row.median_ms, 3) for row in live if row.horizon == HORIZONS[-1]},
        "live_worst_excess": {
            f"{row.size}, h={row.horizon}": round(row.excess, 6) for row in live if row.excess is not None
        },
        "goals_missed": [f"h={h}" for h, goal in GOALS_MS.items() if (dp_ms(h) or 0.0) > goal],
        "rows": [
            {
                "settings": row.size, "horizon": row.horizon, "method": row.method, "states": row.states,
                "explored": row.explored, "median_ms": round(row.median_ms, 4),
                "highest_ms": round(row.highest_ms, 4), "excess": row.excess,
            }
            for row in rows
        ],
        "problems": effort.problems * 6,
        "seed": effort.seed,
    }  # fmt: skip


def print_report(console: Console, rows: Sequence[Row], machine: Machine) -> None:
    console.print(str(machine), soft_wrap=True)
    console.print(
        "time of one solution, its stage costs included: median over problems (highest); excess: worst cost over the "
        "least, '-' where that is not known; goals at 12 x 9: dynamic programming h = 3 in 0.3 ms, h = 10 in 1 ms "
        "(the paper: 17 ms for h = 3)",
        soft_wrap=True,
    )
    table = table_of("", "settings", "h", "<method", "states", "explored", "ms", "excess")
    for row in rows:
        excess = "-" if row.excess is None else f"{row.excess:.1e}" if row.excess > _SAME else "0"
        table.add_row(
            row.size, str(row.horizon), row.method, f"{row.states:,}" if row.states < 1e12 else f"{row.states:.0e}",
            f"{row.explored:,.0f}", f"{row.median_ms:.3f} ({row.highest_ms:.3f})", excess,
        )  # fmt: skip
    console.print(table)
