"""What only the JVM knows: CPU of its tasks and of itself, and where Spark's own time goes.

Read from Spark's status store, which is kept in any case, as JSON in one call per stage.  A call costs a millisecond or
two, so that only some micro-batches are looked at.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.measure.allowance import Allowance

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_OTHER_STAGES_MAX = 4  # that may come between those of a batch


@dataclass(frozen=True, slots=True)
class JvmReading:
    """CPU seconds by element number and partition, and what Spark said of its last trigger."""

    task_cpu_s: dict[int, dict[int, float]] = field(default_factory=dict)
    spark_batch: int | None = None
    spark_ms_by_phase: dict[str, float] = field(default_factory=dict)
    cost_s: float = 0.0  # CPU for reading, in the JVM


class JvmFigures:
    """Reads the figures of a batch when it is its turn."""

    def __init__(self, session: SparkSession, clock: JvmClock) -> None:
        self._context: Any = session.sparkContext
        self._clock = clock
        self._allowance = Allowance(warm_up=2)
        self._mapper: Any = None

    def read(self, batch: int, query: StreamingQuery, elements: int, cpu_s: float) -> JvmReading | None:
        """The figures of the batch that has just run; None where it is not its turn, or where Spark does not say.

        `cpu_s` is what the batch before took, a small share of which may be spent here.
        """
        if not self._allowance.is_enough(cpu_s):
            return None
        start_s, start_cpu_s = time.perf_counter(), self._clock()
        try:
            stages = self._stages(batch, str(query.runId), elements)
            progress = query._jsq.lastProgress()
            told = json.loads(progress.json()) if progress is not None else {}
        except Exception:  # private parts of Spark: a figure that is missing must not end the run
            return None
        finally:
            cost_s = _cost_s(time.perf_counter() - start_s, start_cpu_s, self._clock())
            self._allowance.spend(cost_s)
        by_element = {i: _cpu_s_by_partition(stage) for i, stage in enumerate(stages)}
        return JvmReading(by_element, told.get("batchId"), dict(told.get("durationMs", {})), cost_s)

    def _stages(self, batch: int, run: str, elements: int) -> list[dict[str, Any]]:
        """The stages of a batch, one per element, in their order; none where Spark has not noted all of them yet."""
        spark = self._context._jsc.sc()
        if self._mapper is None:
            self._mapper = self._context._jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
            self._quantiles = self._context._gateway.new_array(self._context._jvm.double, 0)
            self._statuses = self._context._jvm.java.util.ArrayList()
        store, newest = spark.statusStore(), int(spark.dagScheduler().nextStageId()) - 1
        found: list[dict[str, Any]] = []
        for number in range(newest, max(-1, newest - elements - _OTHER_STAGES_MAX), -1):
            attempts = store.stageData(number, True, self._statuses, False, self._quantiles)
            stage = _merged(json.loads(self._mapper.writeValueAsString(attempts)))
            if _belongs(stage, batch, run):
                found.append(stage)
            if len(found) == elements:
                return found[::-1]
        return []


def _merged(attempts: list[dict[str, Any]]) -> dict[str, Any]:
    """One stage of several attempts, with the tasks of all of them."""
    stage = dict(attempts[0]) if attempts else {}
    stage["tasks"] = [task for attempt in attempts for task in (attempt.get("tasks") or {}).values()]
    return stage


def _belongs(stage: dict[str, Any], batch: int, run: str) -> bool:
    """Whether a stage is over and of this batch; the description is the one that the streaming query sets."""
    text = str(stage.get("description", ""))
    return stage.get("status") == "COMPLETE" and run in text and text.rstrip().endswith(f"batch = {batch}")


def _cpu_s_by_partition(stage: dict[str, Any]) -> dict[int, float]:
    """CPU of each partition's tasks in the JVM, all attempts together."""
    found: dict[int, float] = {}
    for task in stage["tasks"]:
        metrics = task.get("taskMetrics") or {}
        cpu_ns = metrics.get("executorCpuTime", 0) + metrics.get("executorDeserializeCpuTime", 0)
        found[task["partitionId"]] = found.get(task["partitionId"], 0.0) + cpu_ns / 1e9
    return found


def _cost_s(elapsed_s: float, before_s: float | None, after_s: float | None) -> float:
    """CPU of a reading: its time at most, and where that is long, since the machine is busy, what the JVM used."""
    if before_s is None or after_s is None or elapsed_s < 2 * _TICK_S:
        return elapsed_s
    return min(elapsed_s, max(after_s - before_s, _TICK_S))


class JvmClock:
    """CPU seconds of the JVM that driver and tasks share on a local master; None on others."""

    def __init__(self, session: SparkSession) -> None:
        context: Any = session.sparkContext
        process = getattr(context._gateway, "proc", None)
        is_local = str(context.master).startswith("local")
        self._path = Path(f"/proc/{process.pid}/stat") if is_local and process is not None else None

    def __call__(self) -> float | None:
        try:
            text = self._path.read_text() if self._path is not None else ""
        except OSError:
            return None
        fields = text.rpartition(")")[2].split()  # the name before may have blanks
        return (int(fields[11]) + int(fields[12])) * _TICK_S if len(fields) > 12 else None
