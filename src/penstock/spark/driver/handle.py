"""A running application on Spark: observed, changed, stopped."""

from __future__ import annotations

import contextlib
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.app.graph import Graph
from penstock.arguments import TEXT, check_arguments, kind, number, or_none
from penstock.block.dead_letters import SCHEMA as LETTERS
from penstock.block.ordering import in_order
from penstock.control.journal.run_start import run_start
from penstock.control.loop.control_request import ControlRequest
from penstock.errors import PenstockError
from penstock.host.directories import remove_host_state
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.runtime.driver.dead_letter_log import LetterBox
from penstock.runtime.driver.finished import is_committed, progress_of, total_tuples
from penstock.runtime.driver.sink_folders import sweep_sinks
from penstock.runtime.driver.source_control import SourceControl
from penstock.runtime.migration.migration import PRE_COPY, check_migration
from penstock.runtime.slots.state_slots import check_fits, check_same_slots
from penstock.spark.driver.control_setup import controller_of, speed_up_of
from penstock.spark.driver.micro_batch import BatchResult, MicroBatches
from penstock.spark.driver.observer import EVERY_S, observer_of
from penstock.spark.driver.sink_delivery import SinkDelivery
from penstock.spark.executors.executor_watch import ExecutorWatch
from penstock.spark.executors.pinning import is_local
from penstock.spark.session.failures import check_spark_lives, stopped
from penstock.spark.session.session import with_runtime_settings
from penstock.spark.sources.source_frames import source_frame
from penstock.state.checkpoint.checkpoint import BatchPlan, Checkpoint, Fixed
from penstock.state.checkpoint.lease import Lease
from penstock.state.slots.row_checksum import add_checksums

_log = logging.getLogger(__name__)


_KEPT_OBSERVATIONS = 10_000


@dataclass(slots=True)
class RunResult:
    """What a run gave: tables of memory sinks, counts and checksums of discarding ones, and every Observation.

    `dead_letters` has the first of them, `dead_letter_count` says how many there were.  While an application runs, its
    `observations` may be a second behind; `Handle.observe` is not.

    >>> RunResult().dead_letter_count
    0
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    discarded: dict[str, tuple[int, int]] = field(default_factory=dict)
    dead_letters: pa.Table = field(default_factory=LETTERS.empty_table)
    dead_letter_count: int = 0
    observations: list[Observation] = field(default_factory=list)


class Handle:
    """A running application: observe it, change its Configuration, stop it.

    >>> import penstock as ps
    >>> app = ps.Application("volumes")
    >>> trades = app.source("trades", ps.sources.trace(rate_tuples_s=1000))
    >>> volume = {"ticker": "any(ticker)", "volume": "sum(volume)"}
    >>> windows = trades.aggregate("window", by="ticker", window=ps.sliding(count=4, per_group=True), emit=volume)
    >>> windows.sink("out", ps.sinks.discard())
    >>> handle = ps.start(app, master="local[2]")  # doctest: +SKIP
    >>> handle.apply(handle.configuration.with_replicas("window", 1))  # doctest: +SKIP
    >>> while handle.observe() is None:  # doctest: +SKIP
    ...     _ = handle.wait(timeout_s=0.1)
    >>> handle.observe().tuples_in > 0  # doctest: +SKIP
    True
    >>> result = handle.stop()  # doctest: +SKIP
    """

    def __init__(
        self,
        session: SparkSession,
        checkpoint: Checkpoint,
        lease: Lease,
        fixed: Fixed,
        configuration: Configuration,
        graph: Graph,
        letters: LetterBox,
        *,
        is_scratch: bool = False,
        control: ControlRequest | None = None,
        own_cap_tuples: int | None = None,
    ) -> None:
        self.session, self.fixed, self.checkpoint, self._lease = session, fixed, checkpoint, lease
        self._configuration, self._is_scratch = configuration, is_scratch
        self._migration = PRE_COPY
        self._lock = threading.Lock()
        self.result = RunResult()
        self._sinks, self._letters = SinkDelivery(graph, session, durable=fixed.durable), letters
        self._failure: PenstockError | None = None
        self._is_raised = False  # whether the failure was raised
        self._gives_up = False  # whether a micro-batch that is at work now has been given up
        self._stopping, self._in_batch = threading.Event(), threading.Event()
        self._total = total_tuples(fixed.graph)
        self._progress = progress_of(checkpoint, durable=fixed.durable)
        self._executors = ExecutorWatch(session)
        self._observer = observer_of(session, checkpoint.directory, fixed, self._keep)
        self._observer.started(run_start(speed_up_of(fixed.graph), control))
        self._source_control = SourceControl(checkpoint.directory, lambda: self._configuration)
        self._batches = MicroBatches(
            checkpoint, fixed, lease.epoch, lambda: self.configuration, self._deliver,
            accept=lambda result: letters.refuse(result.letters), migration=lambda: self._migration,
            wake=self._source_control.beat, own_cap=lambda: own_cap_tuples if self._is_controlled else None,
        )  # fmt: skip
        self._source_control.beat() if self._batches.has_waiting else self._source_control.write()
        self.controller = None if control is None else controller_of(
            self, control, session, fixed.graph, self._batches.placer, self._observer
        )  # fmt: skip
        self._query = self._observer.query = self._start(session, graph)
        if self.controller is not None:
            self.controller.start()

    @property
    def epoch(self) -> int:
        """How many drivers this checkpoint has had, this one included."""
        return self._lease.epoch

    @property
    def configuration(self) -> Configuration:
        """The Configuration of the next micro-batch."""
        return self._configuration

    @property
    def _is_controlled(self) -> bool:
        return self.controller is not None and self.controller.failure is None

    @property
    def in_force(self) -> Configuration:
        """The Configuration of the micro-batch at hand: another one while slots are on their way to other hosts."""
        return self._batches.in_force or self._configuration

    def apply(self, configuration: Configuration, migration: str = PRE_COPY) -> None:
        """Puts a Configuration in force at the next micro-batch.

        Where slots go to another host, `migration` says how.  'pre-copy': they are copied first, beside batches that go
        on as before.  'at once': their tuples wait in the replicas until the state is there, all others go on (where a
        sink keeps the total order, replicas wait instead).  'replicas wait': replicas fetch the state within the
        batch.  'splitter holds': tuples wait in one place until the state is there, and go first then.
        """
        check_arguments(
            "Handle.apply", configuration=(configuration, kind("a ps.Configuration", Configuration)),
            migration=(migration, TEXT),
        )  # fmt: skip
        check_migration(migration)
        self._check(configuration)
        with self._lock:
            self._configuration, self._migration = configuration, migration
        self._source_control.write()

    def apply_cap(self, tuples: int) -> None:
        """Another cap of micro-batches, and nothing else: neither what somebody applies meanwhile, nor its way."""
        with self._lock:
            self._configuration = replace(self._configuration, micro_batch_tuples=tuples)
        self._source_control.write()

    def clear_frequency(self) -> None:
        """Cores are left alone from now on, and nothing else changes."""
        with self._lock:
            self._configuration = replace(self._configuration, frequency_ghz=None)

    def beat(self) -> None:
        """Has a micro-batch run although no tuples may have come."""
        self._source_control.beat()

    def _check(self, configuration: Configuration) -> None:
        """Raises InputError where a Configuration does not fit, or would cut state otherwise than it is."""
        check_fits(self.fixed, configuration)
        check_same_slots(self.fixed, self._configuration, configuration)

    def observe(self) -> Observation | None:
        """The newest Observation, None before the first micro-batch is over."""
        self._observer.make()
        with self._lock:
            return self.result.observations[-1] if self.result.observations else None

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until a finite application is done, a failure, or the time is over; tells whether it has ended."""
        check_arguments("Handle.wait", timeout_s=(timeout_s, or_none(number(least=0))))
        with check_spark_lives():
            return self._waited(timeout_s)

    def _waited(self, timeout_s: float | None) -> bool:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._query.isActive and (deadline is None or time.monotonic() < deadline):
            if self._has_all() and self._is_committed():
                return True
            self._executors.check()
            self._observer.make(idle_s=EVERY_S)
            time.sleep(0.02)
        error = self._query.exception()
        if error is not None:
            self._is_raised = True
            raise (self._failure or self._stopped(error)) from None
        return not self._query.isActive

    def _has_all(self) -> bool:
        """Whether every tuple of finite sources has been taken and none of them waits."""
        return self._total is not None and self._progress.tuples >= self._total and not self._batches.has_waiting

    def _is_committed(self) -> bool:
        """Whether Spark has noted that the newest batch is done."""
        return is_committed(self.checkpoint, self._progress.batch)

    def stop(self, patience_s: float = 30.0) -> RunResult:
        """Ends the query after the micro-batch at hand, and gives all results so far; raises what made it fail.

        A micro-batch that takes longer than `patience_s` is given up; it runs again with the next start.
        """
        check_arguments("Handle.stop", patience_s=(patience_s, number(least=0)))
        self._stopping.set()
        if self.controller is not None:  # a last micro-batch with another cap could be one of minutes
            self.controller.close(gives_cap_back=False)
        with contextlib.suppress(Py4JError, ConnectionError):  # of a Spark that died there is nothing to stop
            deadline = time.monotonic() + patience_s
            while self._query.isActive and self._is_at_work() and time.monotonic() < deadline:
                time.sleep(0.01)
            self._gives_up = True
            self._query.stop()
        self._batches.copier.stop()
        return self._ended()

    def _is_at_work(self) -> bool:
        return self._in_batch.is_set() or not self._is_committed()

    def _ended(self) -> RunResult:
        self._observer.end()
        sweep_sinks(self.fixed.graph, self._lease.epoch + 1)
        self._lease.release()
        self.result.tables = self._sinks.tables()
        self.result.dead_letters, self.result.dead_letter_count = self._letters.table, self._letters.count
        if is_local(self.session):  # a start that goes on from the checkpoint rebuilds it
            remove_host_state(self.fixed.checkpoint_id)
        if self._is_scratch:
            shutil.rmtree(self.checkpoint.directory, ignore_errors=True)
        if self._failure is not None and not self._is_raised:
            self._is_raised = True
            raise self._failure
        return self.result

    def _start(self, session: SparkSession, graph: Graph) -> StreamingQuery:
        with with_runtime_settings(session):
            frame = source_frame(session, graph, self.fixed.graph, self.checkpoint.directory)
            writer = frame.writeStream.foreachBatch(self._run).option("checkpointLocation", self.checkpoint.spark)
            return writer.trigger(processingTime="0 seconds").start()

    def _run(self, frame: DataFrame, batch: int) -> None:
        """One micro-batch; what it raises is kept, since Spark passes on a text alone, which must be short."""
        if self._stopping.is_set():
            raise InterruptedError("the application is being stopped")
        self._in_batch.set()
        try:
            self._batches.run(frame, batch)
        except Exception as error:
            _log.info("micro-batch %d failed", batch, exc_info=True)
            if self._gives_up:  # no failure: it runs again with the next start
                raise InterruptedError("the application is being stopped") from None
            self._failure = self._stopped(error)
            raise self._failure from None
        finally:
            self._in_batch.clear()

    def _stopped(self, error: BaseException) -> PenstockError:
        return stopped(error, [str(self.checkpoint.directory), tempfile.gettempdir()])

    def _deliver(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        for name, blocks in result.blocks.items():
            ordered = in_order([block for _, block in sorted(blocks, key=lambda pair: pair[0])])
            self._sinks.deliver(plan, name, ordered)
        self._letters.add(plan.batch, result.letters)
        with self._lock:
            for name, (count, total) in result.discarded.items():
                before = self.result.discarded.get(name, (0, 0))
                self.result.discarded[name] = (before[0] + count, add_checksums(before[1], total))
        self._progress.add(plan.batch, measured.tuples_in)
        controller, committed_s = self.controller, measured.moments.committed_s
        at_once = None
        if controller is not None:
            at_once = controller.is_due(committed_s, plan.configuration, measured.tuples_in)
        for seen, configuration in self._observer.note(measured, plan.configuration, at_once=at_once):
            if controller is not None:
                controller.committed(seen, configuration)

    def _keep(self, observations: Sequence[Observation]) -> None:
        with self._lock:
            self.result.observations += observations
            if len(self.result.observations) > 2 * _KEPT_OBSERVATIONS:  # the journal has all
                del self.result.observations[:_KEPT_OBSERVATIONS]
