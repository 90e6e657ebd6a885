"""Makes the Observations of micro-batches, some at a time, and keeps them in the journal."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.control.journal.display_graph import DisplayGraph, display_graph
from penstock.control.journal.history import DEFAULT_JOURNAL, History, JournalSettings
from penstock.control.journal.journal import Journal, newest_batch
from penstock.control.journal.recorded_decision import RecordedDecision
from penstock.control.journal.run_start import RunStart
from penstock.measure.batch.arrival_clock import ScheduleClock
from penstock.measure.batch.batch_figures import Reports
from penstock.measure.batch.batch_notes import BatchNotes, Note, read_notes
from penstock.measure.batch.cpu_meter import CpuClocks, CpuMeter
from penstock.measure.batch.latency_clock import LatencyClock
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.measure.observation import Observation, ReplicaObservation
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.fusion.groups import Fused
from penstock.plan.fusion.requested import requested_fusion
from penstock.runtime.driver.checkpoint_size import CheckpointSize
from penstock.runtime.profiling.cost_watch import CostWatch
from penstock.spark.driver.jvm_figures import JvmClock, JvmFigures, JvmReading
from penstock.spark.driver.source_backlogs import SourceBacklogs
from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed

_log = logging.getLogger(__name__)

EVERY_S = 1.0
Keep = Callable[[Sequence[Observation]], None]
Made = tuple[Observation, Configuration]


@dataclass(frozen=True, slots=True)
class _Noted:
    measured: MeasuredBatch
    configuration: Configuration
    clocks: CpuClocks


class Observer:
    """Everything that is measured in the driver.

    A micro-batch is noted when it is committed; its Observation is made with those of others, about once a second,
    since one at a time, when Spark has had the caches for itself, takes several times the CPU.  `keep` gets them.
    """

    def __init__(
        self,
        directory: Path,
        fixed: Fixed,
        keep: Keep,
        cpu: CpuMeter,
        jvm: JvmFigures | None = None,
        clock: Callable[[], float] = time.monotonic,
        settings: JournalSettings = DEFAULT_JOURNAL,
        costs: CostWatch | None = None,
    ) -> None:
        self.query: StreamingQuery | None = None  # known once it has started
        self._keep, self._cpu, self._jvm, self._clock = keep, cpu, jvm, clock
        first = requested_fusion(fixed.graph)
        single = sorted(e.name for e in pipeline_of(fixed.graph, first).elements if e.scope == "stream")
        path = directory / "journal.jsonl"

        def display(fused: Fused) -> DisplayGraph:
            return display_graph(fixed.graph, fused)

        self._journal = Journal(path, fixed.graph.name, single, part_bytes=settings.part_bytes, graph=display(first))
        self.history = History(path, display, settings)
        self._size = CheckpointSize(directory, self.history)
        self._costs = costs
        self._write_left_over(directory / "journal.notes", directory / "journal.jsonl", fixed)
        self._notes = BatchNotes(directory / "journal.notes")
        self._notes.clear()
        self._schedules, self._latencies = ScheduleClock(fixed), LatencyClock(fixed)
        self._backlogs = SourceBacklogs(fixed, Checkpoint(directory))
        self._lock = threading.Lock()
        self._noted: list[_Noted] = []
        self._made: list[Made] = []  # since the last micro-batch was noted
        self._noted_at_s = self._made_at_s = clock() - EVERY_S
        self._cpu_s = 0.0  # of the micro-batches made last
        self._committed_at_s: float | None = None
        self._failure: OSError | None = None

    def opened(self, at_s: float) -> None:
        """The stream opened at this moment: schedules go by it."""
        self._schedules.opened(at_s)
        self._latencies.opened(at_s)

    def started(self, start: RunStart) -> None:
        """The application starts with this; what a driver before it left over is written by now."""
        self._journal.begin(start)
        self.history.begin(start)

    def note(self, measured: MeasuredBatch, configuration: Configuration, *, at_once: bool | None = None) -> list[Made]:
        """A micro-batch is committed; gives the Observations that were made since the last time.

        `at_once`: this one with them, or not yet; None: about once a second.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            with self._cpu.measuring():
                self._noted.append(_Noted(measured, configuration, self._cpu.clocks()))
                now_s, before_s = self._clock(), self._noted_at_s
                self._noted_at_s = now_s
                # The next one may take as long as this one did.
                is_due = 2 * now_s - before_s - self._made_at_s >= EVERY_S if at_once is None else at_once
                self._notes.add((measured, configuration))
            if is_due:
                self._make()
            made, self._made = self._made, []
            return made

    def make(self, idle_s: float = 0.0) -> None:
        """Makes all Observations that are due, if no micro-batch was noted for so long; for any thread."""
        with self._lock:
            if self._noted and self._clock() - self._noted_at_s >= idle_s:
                try:
                    self._make()
                except OSError as error:  # a disk that is full: told by the thread of the micro-batches
                    self._failure = error

    def end(self, *, is_failed: bool = False, reason: tuple[str, str] = ("stopped", "")) -> None:
        """Makes what is left, and writes why the run has ended.

        Nothing depends on a journal that can no longer be written, but somebody should know.  Of a run that `is_failed`
        its own sentence is told alone: mostly it is the same full disk.
        """
        self.make()
        if self._failure is not None and not is_failed:
            _log.warning("the last micro-batches are committed, but missing from the journal: %s", self._failure)
        if self._costs is not None and not is_failed:
            self._costs.end()
        with contextlib.suppress(OSError):
            self.history.end(*reason)

    def decided(self, batch: int, decision: RecordedDecision) -> None:
        """Keeps the decision that followed a micro-batch."""
        self._journal.decide(batch, decision)
        self.history.decided(batch, decision)

    def spent(self, cpu_s: float) -> None:
        """CPU that control has taken: machinery, as measuring is."""
        self._cpu.spent(cpu_s)

    def _make(self) -> None:
        """What it takes itself counts with the next ones."""
        noted, self._noted, self._made_at_s = self._noted, [], self._clock()
        spent_s = self._cpu.take_spent_s() / len(noted)
        with self._cpu.measuring():
            reading = self._read(noted)
            reports = [own.measured.read() for own in noted]
            seen = [own.measured.observation(said) for own, said in zip(noted, reports, strict=True)]
            if self.query is not None:
                self._backlogs.tell(self.query)
            seen = [self._timed(o, said) for o, said in zip(seen, reports, strict=True)]
            seen = [self._completed(o, own, reading, spent_s) for o, own in zip(seen, noted, strict=True)]
            if reading is not None:
                seen[-1] = _with_phases(seen[-1], reading)
            self._cpu_s = sum([o.cpu.total_s for o in seen if o.cpu is not None])
            self._keep(seen)
            made = list(zip(seen, (own.configuration for own in noted), strict=True))
            self._made += made
            self._journal.write_all(made)
            self.history.batches(made)
            self._notes.clear()
            self._tell_drift(made)
        self._size.look()

    def _tell_drift(self, made: Sequence[Made]) -> None:
        """Says, in journal and log, which elements no longer cost what their profile says."""
        for drift in [] if self._costs is None else self._costs.after(made):
            _log.warning("%s", drift)
            self.history.event("drift", {**asdict(drift), "sentence": str(drift)})

    def _read(self, noted: Sequence[_Noted]) -> JvmReading | None:
        if self.query is None or self._jvm is None:
            return None
        first, last = noted[0].measured.batch, noted[-1].measured.batch
        reading = self._jvm.read(first, last, self.query, self._cpu_s)
        if reading is not None:
            self._cpu.spent(reading.cost_s)
        return reading

    def _timed(self, seen: Observation, reports: Reports) -> Observation:
        """With what arrived, what waits, and the latency of its results."""
        seen = self._backlogs.completed(self._schedules.completed(seen, reports))
        waits_s = {**self._schedules.waits_s, **self._backlogs.waits_s(seen)}
        return self._latencies.completed(seen, reports, waits_s)

    def _completed(self, seen: Observation, own: _Noted, reading: JvmReading | None, spent_s: float) -> Observation:
        """With the time since the commit before, and CPU."""
        times, before_s = seen.times, self._committed_at_s
        self._committed_at_s = seen.committed_at_s
        assert times is not None
        if before_s is not None:
            times = replace(times, before_s=max(0.0, seen.started_at_s - before_s))
        replicas = seen.replicas_by_element
        if reading is not None and (cpu_s := reading.of(seen.batch, len(own.configuration.elements))):
            places = {element.name: place for place, element in enumerate(own.configuration.elements)}
            replicas = {name: _with_cpu(each, cpu_s[places[name]]) for name, each in replicas.items()}
        cpu = self._cpu.lap((r for each in replicas.values() for r in each), own.clocks, spent_s)
        return replace(seen, times=times, replicas_by_element=replicas, cpu=cpu)

    def _write_left_over(self, notes: Path, journal: Path, fixed: Fixed) -> None:
        """Writes what a driver that was killed had noted; its clocks have gone with it."""
        left: Iterable[Note] = read_notes(notes)
        newest, clock, latencies = newest_batch(journal) if left else None, ScheduleClock(fixed), LatencyClock(fixed)
        for measured, configuration in left:
            if newest is None or measured.batch > newest:
                reports = measured.read()
                made = clock.completed(measured.observation(reports), reports)
                made = latencies.completed(made, reports, clock.waits_s)
                self._journal.write(made, configuration)
                self.history.batches([(made, configuration)])


def observer_of(
    session: SparkSession,
    directory: Path,
    fixed: Fixed,
    keep: Keep,
    settings: JournalSettings = DEFAULT_JOURNAL,
    *,
    measures_all: bool = False,
) -> Observer:
    """The observer of a query on Spark; `measures_all`: the JVM is asked for every micro-batch, as for a profile.

    Any other run is compared with what the store of costs knows of it.
    """
    jvm_clock = JvmClock(session)
    figures = JvmFigures(session, jvm_clock, always=measures_all)
    costs = None if measures_all else CostWatch(fixed.graph)
    return Observer(directory, fixed, keep, CpuMeter(jvm_clock), figures, settings=settings, costs=costs)


def _with_phases(seen: Observation, reading: JvmReading) -> Observation:
    assert seen.times is not None
    times = replace(seen.times, spark_batch=reading.spark_batch, spark_ms_by_phase=reading.spark_ms_by_phase)
    return replace(seen, times=times)


def _with_cpu(replicas: tuple[ReplicaObservation, ...], cpu_s: dict[int, float]) -> tuple[ReplicaObservation, ...]:
    return tuple([replace(r, jvm_cpu_s=cpu_s.get(r.replica)) for r in replicas])
