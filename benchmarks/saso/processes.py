"""The parts of `python -m benchmarks saso` on all cores: simulated time only, so that runs do not disturb each other.

A plant is made of functions, which do not travel between processes: a case or a situation is named by its number.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.saso.paper import STRATEGIES, PaperRun, run_paper
from benchmarks.saso.saso import Comparison, cases, compare
from benchmarks.saso.scenarios import Outcome, run_scenario, scenarios

A = TypeVar("A")
R = TypeVar("R")


def comparisons(seed: int, traces: Sequence[Path], *, quick: bool, policy: str | None = None) -> Iterator[Comparison]:
    """Every case, in order."""
    known = cases(seed, traces, quick=quick)
    found = _in_order(partial(_compared, seed, tuple(traces), quick, policy), range(len(known)))
    return (Comparison(case, *parts) for case, parts in zip(known, found, strict=True))


def paper_runs(seeds: Sequence[int]) -> list[PaperRun]:
    """The paper's strategies, each in a process."""
    return list(itertools.chain.from_iterable(_in_order(partial(_paper, tuple(seeds)), STRATEGIES)))


def outcomes() -> list[Outcome]:
    """All situations."""
    known = scenarios()
    return [Outcome(s, *parts) for s, parts in zip(known, _in_order(_outcome, range(len(known))), strict=True)]


def _compared(seed: int, traces: tuple[Path, ...], quick: bool, policy: str | None, number: int) -> tuple[Any, ...]:
    done = compare(cases(seed, traces, quick=quick)[number], quick=quick, policy=policy)
    return done.mpc, done.mpc_best, done.oracle, done.published, done.best, done.records, done.given


def _paper(seeds: tuple[int, ...], strategy: Any) -> list[PaperRun]:
    return run_paper(seeds, [strategy])


def _outcome(number: int) -> tuple[Any, ...]:
    done = run_scenario(scenarios()[number])
    return done.results, done.records


def _in_order(function: Callable[[A], R], arguments: Sequence[A]) -> Iterator[R]:
    workers = min(len(os.sched_getaffinity(0)), len(arguments))
    if workers <= 1:
        yield from map(function, arguments)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, arguments)
