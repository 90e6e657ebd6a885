"""What only the JVM knows: CPU of its tasks and of itself, and where Spark's own time goes."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.measure.task.cpu_budget import Allowance
from penstock.spark.driver.task_listener import task_listener

_CPU_CLOCK = 2  # Linux: all threads of a process, as scheduled; its number is made of this and the process's


@dataclass(frozen=True, slots=True)
class JvmReading:
    """CPU seconds of each batch by stage and partition, and what Spark said of its last trigger."""

    stages_cpu_s: dict[int, list[dict[int, float]]] = field(default_factory=dict)
    spark_batch: int | None = None
    spark_ms_by_phase: dict[str, float] = field(default_factory=dict)
    cost_s: float = 0.0  # CPU in the JVM, for keeping and telling it

    def of(self, batch: int, elements: int) -> list[dict[int, float]]:
        """By element and partition; the newest stages are the elements', none where Spark has not told of all yet."""
        stages = self.stages_cpu_s.get(batch, [])
        return stages[-elements:] if len(stages) >= elements else []


class JvmFigures:
    """Asks for the figures of some batches when it is their turn: a call takes half a millisecond, all told.

    `always`: for a profile, whatever it costs.
    """

    def __init__(self, session: SparkSession, clock: JvmClock, *, always: bool = False) -> None:
        self._clock, self._listened_s = clock, 0.0
        self._allowance = Allowance(1.0, warm_up=2) if always else Allowance(warm_up=2)
        try:
            self._listener: Any = task_listener(session.sparkContext)
        except Exception:  # private parts of Spark: a figure that is missing must not end the run
            self._listener = None

    def read(self, first: int, last: int, query: StreamingQuery, cpu_s: float) -> JvmReading | None:
        """The figures of batches that have just run; None where it is not their turn, or where Spark does not say.

        `cpu_s` is what those before took, a small share of which may be spent here.
        """
        if self._listener is None or not self._allowance.is_enough(cpu_s):
            return None
        begin_s, jvm_s, own_s = time.perf_counter(), self._clock(), time.thread_time()
        try:
            text = self._listener.figures(str(query.runId), first, last, query._jsq)
        except Exception:  # as above
            self._listener = None
            return None
        own_s = time.thread_time() - own_s
        spent_s = _cost_s(time.perf_counter() - begin_s - own_s, jvm_s, self._clock())
        self._allowance.spend(own_s + spent_s)
        reading, listened_s = reading_of(text)
        cost_s, self._listened_s = spent_s + listened_s - self._listened_s, listened_s
        return JvmReading(reading.stages_cpu_s, reading.spark_batch, reading.spark_ms_by_phase, cost_s)


def reading_of(text: str) -> tuple[JvmReading, float]:
    """What the listener told, and the CPU seconds that it has listened for.

    >>> reading_of("7000;4;{addBatch=30};9:0=1000000000 ;9:0=2000000000 1=500000000 ")[0].of(9, elements=2)
    [{0: 1.0}, {0: 2.0, 1: 0.5}]
    """
    listened_ns, spark_batch, phases, *stages = text.split(";")
    cpu_s: dict[int, list[dict[int, float]]] = {}
    for stage in stages:
        batch, _, tasks = stage.partition(":")
        pairs = (pair.split("=") for pair in tasks.split())
        cpu_s.setdefault(int(batch), []).append({int(partition): int(ns) / 1e9 for partition, ns in pairs})
    phase_pairs = (pair.split("=") for pair in phases.strip("{}").split(", ") if pair)
    by_phase = {phase: float(ms) for phase, ms in phase_pairs}
    return JvmReading(cpu_s, int(spark_batch) if spark_batch else None, by_phase), int(listened_ns) / 1e9


def _cost_s(waited_s: float, before_s: float | None, after_s: float | None) -> float:
    """CPU that a call took in the JVM: no more than the time waited for it, and than all that the JVM used."""
    waited_s = max(waited_s, 0.0)
    return waited_s if before_s is None or after_s is None else min(waited_s, max(after_s - before_s, 0.0))


class JvmClock:
    """CPU seconds of the JVM that driver and tasks share on a local master; None on others, and where it has ended."""

    def __init__(self, session: SparkSession) -> None:
        context: Any = session.sparkContext
        process = getattr(context._gateway, "proc", None)
        self._clock: int | None = None
        if process is not None and str(context.master).startswith("local") and sys.platform == "linux":
            self._clock = (~process.pid << 3) | _CPU_CLOCK  # as clock_getcpuclockid of the C library has it

    def __call__(self) -> float | None:
        try:
            return None if self._clock is None else time.clock_gettime(self._clock)
        except OSError:
            return None
