"""Some calls of operators are timed, by wall and by the thread's CPU clock."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.element.block import Block
from penstock.element.position import Frontier
from penstock.element.threads.seat import Seat
from penstock.element.threads.stage import ThreadedStage

EVERY = 16
_ENOUGH_NS = 20_000_000
_GAINS = 1.3  # a second thread that gained at least this is worth having; without the GIL it would be 2
_COMPUTES = 0.5  # an operator that is on the CPU for less of its time waits for something else than the GIL


@dataclass(slots=True)
class CallTimes:
    """Timed calls of one operator: by itself, and while others were in the same operator, weighted by how many."""

    calls: int = 0
    wall_ns: int = 0
    cpu_ns: int = 0
    alone_wall_ns: int = 0
    alone_cpu_ns: int = 0
    together_wall_ns: int = 0
    together_cores_ns: int = 0  # the CPU time of all threads in it, each taken to have as much as the timed one

    def add(self, threads: int, wall_ns: int, cpu_ns: int) -> None:
        self.calls += 1
        self.wall_ns += wall_ns
        self.cpu_ns += cpu_ns
        if threads == 1:
            self.alone_wall_ns += wall_ns
            self.alone_cpu_ns += cpu_ns
        else:
            self.together_wall_ns += wall_ns
            self.together_cores_ns += threads * cpu_ns

    @property
    def gain(self) -> float | None:
        """Cores that several threads got out of the operator, over those that one gets; None while unknown.

        Two threads on two cores get twice as much of an operator that releases the GIL, and no more than one of an
        operator that holds it.
        """
        if min(self.alone_wall_ns, self.together_wall_ns) < _ENOUGH_NS or not self.alone_cpu_ns:
            return None
        return (self.together_cores_ns / self.together_wall_ns) / (self.alone_cpu_ns / self.alone_wall_ns)

    @property
    def holds_gil(self) -> bool:
        """Whether a second thread gained nothing although the operator computes."""
        gain = self.gain
        if gain is None or gain >= _GAINS:
            return False
        return self.alone_cpu_ns >= _COMPUTES * self.alone_wall_ns


class TimedCalls:
    """Times one call in `every` of each thread; threads may lose a figure to one another, which does not matter."""

    def __init__(self, seats: Mapping[int, Seat], every: int = EVERY) -> None:
        self._seats, self.every = seats, every
        self.by_operator: dict[str, CallTimes] = {}

    def call(self, stage: ThreadedStage, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        """Calls a stage and notes how long it took."""
        operator = stage.operator
        together = 0
        for seat in list(self._seats.values()):
            other = seat.stage
            together += other is not None and other.operator is operator
        wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        outputs = stage.process(inputs, frontier)
        cpu_ns, wall_ns = time.thread_time_ns() - cpu_ns, time.perf_counter_ns() - wall_ns
        self.by_operator.setdefault(operator.name, CallTimes()).add(max(together, 1), wall_ns, cpu_ns)
        return outputs

    def holds_gil(self) -> frozenset[str]:
        """Operators that gain nothing from a second thread; none where there is no second core to tell it by."""
        if len(os.sched_getaffinity(0)) < 2:
            return frozenset()
        return frozenset(name for name, times in list(self.by_operator.items()) if times.holds_gil)
