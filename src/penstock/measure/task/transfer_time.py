"""The gates of a task: time in Spark's hands, on the way in and on the way out, told apart into CPU and waiting."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from penstock.measure.task.sampling_interval import Pace, Turn, clock_pair_ns

T = TypeVar("T")


class Gate:
    """Times passages whose turn it is, and takes them for all."""

    __slots__ = ("_turn", "_waiting_ns", "passages", "timed")

    def __init__(self, pace: Pace) -> None:
        self._turn = Turn(pace)
        self.passages = self.timed = self._waiting_ns = 0

    @property
    def waiting_s(self) -> float:
        """Time in which nothing was done: all of it but the CPU."""
        return self._waiting_ns * self.passages / self.timed / 1e9 if self.timed else 0.0

    def inward(self, items: Iterable[T]) -> Iterator[T]:
        """The items; asking for the next one is a passage."""
        source = iter(items)
        while True:
            self.passages += 1
            start = (time.perf_counter_ns(), time.thread_time_ns()) if self._turn.is_due() else None
            try:
                item = next(source)
            except StopIteration:
                self._note(start)
                return
            self._note(start)
            yield item

    def outward(self, items: Iterable[T]) -> Iterator[T]:
        """The items; handing one over, until the next is asked for, is a passage."""
        for item in items:
            self.passages += 1
            if self._turn.is_due():
                start = time.perf_counter_ns(), time.thread_time_ns()
                yield item
                self._note(start)
            else:
                yield item

    def _note(self, start: tuple[int, int] | None) -> None:
        if start is not None:
            cpu_ns = time.thread_time_ns() - start[1] - clock_pair_ns() // 2
            self._waiting_ns += max(0, time.perf_counter_ns() - start[0] - max(cpu_ns, 0))
            self.timed += 1
