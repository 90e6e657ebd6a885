"""CPU seconds of everything that works for an application, from one micro-batch to the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from penstock.measure.observation import CpuObservation, ReplicaObservation


class CpuMeter:
    """Laps of the driver's CPU clock and of the JVM's, `jvm_cpu_s`, which gives None where it cannot be read."""

    def __init__(
        self,
        jvm_cpu_s: Callable[[], float | None],
        process_s: Callable[[], float] = time.process_time,
        thread_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._jvm_clock, self._process_clock, self._thread_clock = jvm_cpu_s, process_s, thread_s
        self._driver_s, self._jvm_s = process_s(), jvm_cpu_s()
        self._measuring_s = 0.0

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """What is done inside counts as measuring."""
        start_s = self._thread_clock()
        try:
            yield
        finally:
            self._measuring_s += self._thread_clock() - start_s

    def spent(self, seconds: float) -> None:
        """Adds what measuring took elsewhere."""
        self._measuring_s += seconds

    def lap(self, replicas: Iterable[ReplicaObservation]) -> CpuObservation:
        """Everything since the lap before; the driver's measuring is that of the time since then."""
        everyone = list(replicas)
        driver_s, jvm_s = self._process_clock(), self._jvm_clock()
        operators_s = sum(r.operators_cpu_s for r in everyone)
        cpu = CpuObservation(
            operators_s,
            max(sum(r.cpu_s for r in everyone) - operators_s, 0.0),
            sum(r.worker_loop_cpu_s for r in everyone),
            driver_s - self._driver_s,
            _difference(jvm_s, self._jvm_s, everyone),
            self._measuring_s + sum(r.measuring_cpu_s for r in everyone),
        )
        self._driver_s, self._jvm_s, self._measuring_s = driver_s, jvm_s, 0.0
        return cpu


def _difference(now_s: float | None, before_s: float | None, replicas: list[ReplicaObservation]) -> float | None:
    """The JVM's CPU, else that of its tasks' threads."""
    if now_s is not None and before_s is not None:
        return now_s - before_s
    tasks_s = [r.jvm_cpu_s for r in replicas]
    return None if not tasks_s or None in tasks_s else sum(own for own in tasks_s if own is not None)
