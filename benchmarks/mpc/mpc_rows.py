"""A row of `python -m benchmarks mpc`, how much effort goes into one, and how a solution is timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from penstock.control.mpc.problem import Solution

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
