"""CPU seconds of everything that works for an application, from one micro-batch to the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from penstock.measure.observation import CpuObservation, ReplicaObservation

CpuClocks = tuple[float, float | None]  # of the driver and of the JVM, in seconds


class CpuMeter:
    """Laps of the driver's CPU clock and of the JVM's, `jvm_cpu_s`, which gives None where it cannot be read."""

    def __init__(
        self,
        jvm_cpu_s: Callable[[], float | None],
        process_s: Callable[[], float] = time.process_time,
        thread_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._jvm_clock, self._process_clock, self._thread_clock = jvm_cpu_s, process_s, thread_s
        self._before = self.clocks()
        self._spent_s: list[float] = []  # by any thread: appending is one step of the interpreter

    def clocks(self) -> CpuClocks:
        return self._process_clock(), self._jvm_clock()

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """What is done inside counts as measuring."""
        start_s = self._thread_clock()
        try:
            yield
        finally:
            self._spent_s.append(self._thread_clock() - start_s)

    def spent(self, seconds: float) -> None:
        """Adds what measuring took elsewhere."""
        self._spent_s.append(seconds)

    def take_spent_s(self) -> float:
        """What measuring in the driver took since the last time."""
        spent_s, self._spent_s = self._spent_s, []
        return sum(spent_s)

    def lap(self, replicas: Iterable[ReplicaObservation], now: CpuClocks, measuring_s: float) -> CpuObservation:
        """Everything since the lap before, the clocks being `now`, and so much of it measuring in the driver."""
        everyone = list(replicas)
        operators_s = sum([r.operators_cpu_s for r in everyone])
        (driver_s, jvm_s), (driver_before_s, jvm_before_s) = now, self._before
        self._before = now
        return CpuObservation(
            operators_s,
            max(sum([r.cpu_s for r in everyone]) - operators_s, 0.0),
            sum([r.worker_loop_cpu_s for r in everyone]),
            driver_s - driver_before_s,
            _difference(jvm_s, jvm_before_s, everyone),
            measuring_s + sum([r.measuring_cpu_s for r in everyone]),
        )


def _difference(now_s: float | None, before_s: float | None, replicas: list[ReplicaObservation]) -> float | None:
    """The JVM's CPU, else that of its tasks' threads."""
    if now_s is not None and before_s is not None:
        return now_s - before_s
    tasks_s = [r.jvm_cpu_s for r in replicas]
    return None if not tasks_s or None in tasks_s else sum(own for own in tasks_s if own is not None)
