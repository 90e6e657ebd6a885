"""Completes the Observation of each micro-batch, and keeps it in the journal."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.control.configuration import Configuration
from penstock.control.journal import Journal
from penstock.control.recorded_decision import RecordedDecision
from penstock.measure.batch_figures import Reports
from penstock.measure.cpu_meter import CpuMeter
from penstock.measure.observation import Observation, ReplicaObservation
from penstock.plan.pipeline import pipeline_of
from penstock.spark.checkpoint import Checkpoint, Fixed
from penstock.spark.jvm_figures import JvmClock, JvmFigures, JvmReading
from penstock.spark.trace_clock import TraceClock


class Observer:
    """Everything that is measured in the driver."""

    def __init__(self, session: SparkSession, checkpoint: Checkpoint, fixed: Fixed) -> None:
        self.query: StreamingQuery | None = None  # known once it has started
        self._clock = TraceClock(fixed)
        jvm_clock = JvmClock(session)
        self._jvm = JvmFigures(session, jvm_clock)
        self._cpu = CpuMeter(jvm_clock)
        single = sorted(e.name for e in pipeline_of(fixed.graph).elements if e.scope == "stream")
        self._journal = Journal(checkpoint.directory / "journal.jsonl", fixed.graph.name, single)
        self._cpu_s = 0.0
        self._committed_at_s: float | None = None

    def measuring(self) -> AbstractContextManager[None]:
        """What is done inside counts as measuring."""
        return self._cpu.measuring()

    def completed(
        self,
        observation: Observation,
        reports: Reports,
        configuration: Configuration,
    ) -> Observation:
        """The observation with all that the driver, Spark and the traces' clock know; it is in the journal then."""
        elements = [element.name for element in configuration.elements]
        with self.measuring():
            reading = self._read(observation.batch, len(elements))
            observation = self._clock.completed(observation, reports)
            observation = self._with_jvm(observation, reading, elements)
        if reading is not None:
            self._cpu.spent(reading.cost_s)
        cpu = self._cpu.lap(r for own in observation.replicas_by_element.values() for r in own)
        with self.measuring():  # counts with the next micro-batch
            observation, self._cpu_s = replace(observation, cpu=cpu), cpu.total_s
            self._journal.write(observation, configuration)
        return observation

    def decided(self, batch: int, decision: RecordedDecision) -> None:
        """Keeps the decision that followed a micro-batch."""
        self._journal.decide(batch, decision)

    def spent(self, cpu_s: float) -> None:
        """CPU that control has taken: machinery, as measuring is."""
        self._cpu.spent(cpu_s)

    def _read(self, batch: int, elements: int) -> JvmReading | None:
        return None if self.query is None else self._jvm.read(batch, self.query, elements, self._cpu_s)

    def _with_jvm(self, observation: Observation, reading: JvmReading | None, elements: list[str]) -> Observation:
        times, before_s = observation.times, self._committed_at_s
        self._committed_at_s = observation.committed_at_s
        assert times is not None
        if before_s is not None:
            times = replace(times, before_s=max(0.0, observation.started_at_s - before_s))
        if reading is None:
            return replace(observation, times=times)
        replicas = {
            name: _with_cpu(own, reading.task_cpu_s.get(elements.index(name), {}))
            for name, own in observation.replicas_by_element.items()
        }
        times = replace(times, spark_batch=reading.spark_batch, spark_ms_by_phase=reading.spark_ms_by_phase)
        return replace(observation, times=times, replicas_by_element=replicas)


def _with_cpu(replicas: tuple[ReplicaObservation, ...], cpu_s: dict[int, float]) -> tuple[ReplicaObservation, ...]:
    return tuple(replace(r, jvm_cpu_s=cpu_s.get(r.replica)) for r in replicas)
