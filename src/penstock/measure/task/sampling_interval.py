"""How often to time something, so that timing itself stays within a small share of the work."""

from __future__ import annotations

import time
from functools import lru_cache

_ALL = 1 << 32
_GOLDEN = 0x9E3779B1  # near the golden section of 2^32, and odd: no period that a stream could have, too


class Pace:
    """The share of calls to time: all at first, then as many as `budget_ratio` of the work pays for."""

    __slots__ = ("_budget_ratio", "below")

    def __init__(self, budget_ratio: float = 0.002) -> None:
        self._budget_ratio = budget_ratio
        self.below = _ALL

    def adapt(self, work_ns: float, calls: int, cost_ns: float) -> None:
        """Takes account of what `calls` calls were worth, and of what timing one of them costs."""
        if calls > 0 and cost_ns > 0:
            share = self._budget_ratio * work_ns / (calls * cost_ns)
            self.below = max(1, min(_ALL, int(share * _ALL)))


class Turn:
    """Whether it is a call's turn to be timed: spread evenly over calls, at the share that a Pace says."""

    __slots__ = ("_place", "pace")

    def __init__(self, pace: Pace) -> None:
        self.pace, self._place = pace, -_GOLDEN

    def is_due(self) -> bool:
        self._place = place = (self._place + _GOLDEN) & 0xFFFFFFFF
        return place < self.pace.below


@lru_cache(maxsize=1)
def clock_pair_ns() -> int:
    """What two readings of the thread's CPU clock cost here, as the same clock sees it."""
    costs = []
    for _ in range(65):
        start = time.thread_time_ns()
        time.thread_time_ns()
        time.thread_time_ns()
        costs.append(time.thread_time_ns() - start)
    return sorted(costs)[32] * 2 // 3
