"""The gates of a task: time in Spark's hands, on the way in and on the way out, told apart into CPU and waiting."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from penstock.measure.pace import Pace, Turn, clock_pair_ns

T = TypeVar("T")


class Gate:
    """Sums what passing costs: all of the time, and CPU of the passages that were timed."""

    def __init__(self, pace: Pace) -> None:
        self._turn = Turn(pace)
        self.passages = self.timed = 0
        self._wall_ns = self._timed_cpu_ns = 0

    @property
    def waiting_s(self) -> float:
        """Time in which nothing was done: all of it but the CPU, which is scaled up from the timed passages."""
        cpu_ns = self._timed_cpu_ns * self.passages / self.timed if self.timed else 0.0
        return max(0.0, self._wall_ns - cpu_ns) / 1e9

    def inward(self, items: Iterable[T]) -> Iterator[T]:
        """The items; asking for the next one is a passage."""
        source = iter(items)
        while True:
            start = self._enter()
            try:
                item = next(source)
            except StopIteration:
                self._leave(start)
                return
            self._leave(start)
            yield item

    def outward(self, items: Iterable[T]) -> Iterator[T]:
        """The items; handing one over, until the next is asked for, is a passage."""
        for item in items:
            start = self._enter()
            yield item
            self._leave(start)

    def _enter(self) -> tuple[int, int]:
        return time.perf_counter_ns(), time.thread_time_ns() if self._turn.is_due() else -1

    def _leave(self, start: tuple[int, int]) -> None:
        wall_ns, cpu_ns = start
        if cpu_ns >= 0:
            self._timed_cpu_ns += max(0, time.thread_time_ns() - cpu_ns - clock_pair_ns() // 2)
            self.timed += 1
        self._wall_ns += time.perf_counter_ns() - wall_ns
        self.passages += 1
