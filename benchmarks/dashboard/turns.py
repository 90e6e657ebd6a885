"""Turns of one run with and without a dashboard: the throughput of each, and the ratio by pairs with its interval."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

Commit = tuple[float, int]  # when (seconds since the epoch), and tuples of that micro-batch


@dataclass(frozen=True, slots=True)
class Turn:
    """From when to when, and whether the dashboard ran."""

    begin_s: float
    end_s: float
    is_watched: bool


def rate_tuples_s(turn: Turn, commits: Sequence[Commit]) -> float | None:
    """Of the micro-batches that were begun and committed within a turn; None without one.

    >>> rate_tuples_s(Turn(0.0, 10.0, True), [(1.0, 500), (2.0, 100), (4.0, 200), (11.0, 900)])
    100.0
    """
    first = bisect_left(commits, turn.begin_s, key=_moment)
    last = bisect_right(commits, turn.end_s, key=_moment) - 1
    if last <= first:
        return None
    return sum(tuples for _, tuples in commits[first + 1 : last + 1]) / (commits[last][0] - commits[first][0])


def _moment(commit: Commit) -> float:
    return commit[0]


def ratios(turns: Sequence[Turn], commits: Sequence[Commit]) -> list[float]:
    """With over without, by pairs of turns in a row; turns that no micro-batch fits into leave their pair out."""
    rates = [(turn.is_watched, rate_tuples_s(turn, commits)) for turn in turns]
    found = []
    for (is_watched, first), (_, second) in list(pairwise(rates))[::2]:
        if first is not None and second is not None:
            found.append(first / second if is_watched else second / first)
    return found


def mean_ratio(own: Sequence[float]) -> float:
    """The geometric mean, so that 2 and 1/2 are 1."""
    return float(np.exp(np.mean(np.log(own))))


def interval(own: Sequence[float], seed: int = 7) -> tuple[float, float]:
    """Where the mean ratio lies with 95 %, by drawing pairs again."""
    draw = np.random.default_rng(seed)
    means = np.mean(draw.choice(np.log(own), (4000, len(own))), axis=1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return float(low), float(high)
