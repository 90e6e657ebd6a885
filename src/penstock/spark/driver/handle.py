"""A running application on Spark: observed, changed, stopped."""

from __future__ import annotations

import contextlib
import logging
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.app.graph import Graph
from penstock.arguments import FLAG, TEXT, check_arguments, checked_calls, kind, number, or_none
from penstock.control.commands import ControlChange, check_command, configuration_from, control_change
from penstock.control.goals.goal import Goal
from penstock.control.goals.limits import Limits
from penstock.control.journal.history import DEFAULT_JOURNAL, JournalSettings
from penstock.control.journal.run_start import run_start
from penstock.control.loop.control_request import ControlRequest
from penstock.errors import InputError, PenstockError, StopTimeoutError
from penstock.host.owned_folder import OwnedFolder
from penstock.host.phases import Phases
from penstock.kernels.keys.row_checksum import add_checksums
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.runtime.delivery.sink_delivery import SinkDelivery
from penstock.runtime.delivery.sink_folders import sweep_sinks
from penstock.runtime.driver.batch_result import BatchResult
from penstock.runtime.driver.command_files import CommandFiles, command_name
from penstock.runtime.driver.dead_letter_log import LetterBox
from penstock.runtime.driver.finished import has_fired, is_committed, newest_batch, progress_of, total_tuples
from penstock.runtime.driver.input_end import InputEnd
from penstock.runtime.driver.source_control import SourceControl
from penstock.runtime.migration.migration import PRE_COPY, check_migration
from penstock.runtime.slots.state_slots import check_fits, check_same_slots
from penstock.spark.driver.capacity import capacity_of
from penstock.spark.driver.control_setup import controller_of, speed_up_of
from penstock.spark.driver.micro_batch import MicroBatches
from penstock.spark.driver.observer import EVERY_S, observer_of
from penstock.spark.executors.executor_watch import ExecutorWatch
from penstock.spark.session.failures import check_spark_lives, stopped
from penstock.spark.session.result_size import result_share
from penstock.spark.session.session import local_url, with_runtime_settings
from penstock.spark.sources.source_frames import given_options, source_frame
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed
from penstock.state.checkpoint.lease import Lease
from penstock.state.checkpoint.manifests import Parts
from penstock.state.memory.host_directory import HostState
from penstock.watch.dashboard_process import DashboardProcess, start_dashboard
from penstock.watch.newest_observations import add_bounded
from penstock.watch.notebook import handle_html
from penstock.watch.run_result import RunResult

_log = logging.getLogger(__name__)


_CONTROL_PATIENCE_S = 5.0
_SPARK_PATIENCE_S = 30.0  # until tasks that were cancelled have ended
_SINK_PATIENCE_S = 0.5
_LETTERS = "@dead_letters"  # among the parts of sinks, whose names are identifiers
_SHOWN_OBSERVATIONS = 300
_SAMPLED_LETTERS = 50  # of a micro-batch's task, from which samples are taken


@checked_calls("Handle")
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
        state: HostState,
        *,
        scratch: OwnedFolder | None = None,
        control: ControlRequest | None = None,
        own_cap_tuples: int | None = None,
        fires_at_end: bool = False,
        journal: JournalSettings = DEFAULT_JOURNAL,
        phases: Phases | None = None,
        measures_all: bool = False,
    ) -> None:
        self.phases = phases or Phases()  # of the start
        self.session, self.fixed, self.checkpoint, self._lease = session, fixed, checkpoint, lease
        self._configuration, self._state, self._scratch = configuration, state, scratch
        self._migration = PRE_COPY
        self._lock = threading.Lock()
        self.result = RunResult()
        self._sinks, self._letters = (
            SinkDelivery(
                graph, session, run_id=self.run_id, folder=checkpoint.staged, epoch=lease.epoch, durable=fixed.durable,
                fence=lease.check, ran_before=-1 if (newest := checkpoint.newest_batch()) is None else newest,
            ),
            letters,
        )  # fmt: skip
        self._delivered: Parts = {}  # the parts of the newest batch
        self._failure: PenstockError | None = None
        self._is_raised = False  # whether the failure was raised
        self._gives_up = False  # whether a micro-batch that is at work now has been given up
        self._stopper: threading.Thread | None = None
        self._stopping, self._in_batch = threading.Event(), threading.Event()
        self._commands, self._taking = CommandFiles(checkpoint.directory), threading.Lock()
        self._is_stopped_by_command = False
        self._dashboard: DashboardProcess | None = None
        self._total = total_tuples(fixed.graph)
        self._input_end = InputEnd(fixed.graph, checkpoint) if fires_at_end else None
        self._has_fired = fires_at_end and has_fired(checkpoint)
        self._progress = progress_of(checkpoint, fixed.graph, newest_batch(checkpoint))
        self._executors = ExecutorWatch(session)
        with self.phases.phase("observer"):
            self._observer = observer_of(
                session, checkpoint.directory, fixed, self._keep, journal, measures_all=measures_all
            )
        capacity = capacity_of(session)
        self._observer.started(run_start(
            speed_up_of(fixed.graph), control, cores=capacity.cores, executors=capacity.executors, at_s=time.time()
        ))  # fmt: skip
        self._source_control = SourceControl(checkpoint.directory, lambda: self._configuration)
        self._batches = MicroBatches(
            checkpoint, fixed, lease.epoch, lambda: self.configuration, self._deliver,
            accept=lambda result: letters.refuse(result.letters), migration=lambda: self._migration,
            wake=self._source_control.beat, result_share=result_share(session), fence=lease.check,
            own_cap=lambda: own_cap_tuples if self._is_controlled and not self._is_passive else None,
            ends=lambda batch: self._is_at_end(batch - 1), stage=self._stage, finish=self._finish,
        )  # fmt: skip
        needs_batch = self._batches.has_waiting or (fires_at_end and not self._has_fired)
        self._source_control.beat() if needs_batch else self._source_control.write()
        self.controller = None if control is None else controller_of(
            self, control, session, fixed.graph, self._batches.placer, self._observer
        )  # fmt: skip
        with self.phases.phase("query"):
            self._query = self._observer.query = self._start(session, graph)
        if self.controller is not None:
            self.controller.start()

    @property
    def run_id(self) -> str:
        """The id of the checkpoint: the same after each restart from it, and different for every other checkpoint.

        Functions of sinks find it at their batch id, as `batch_id.run_id`: the two together name a delivery for ever.
        """
        return self.fixed.checkpoint_id

    @property
    def is_stopped_by_command(self) -> bool:
        """Whether a command, as from the dashboard, has stopped the run."""
        return self._is_stopped_by_command

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
    def _is_passive(self) -> bool:
        return self.controller is not None and self.controller.is_passive

    @property
    def in_force(self) -> Configuration:
        """The Configuration of the current micro-batch; not `configuration` while slots move to other hosts."""
        return self._batches.in_force or self._configuration

    def apply(self, configuration: Configuration, migration: str = PRE_COPY) -> None:
        """Puts a Configuration in force at the next micro-batch.

        `migration` says how slots move to another host.  'pre-copy': their state is copied first, while batches go on
        as before.  'at once': tuples of these slots are deferred until the state is there, all others go on (if a sink
        keeps the total order, replicas wait instead).  'replicas wait': replicas fetch the state within the batch.
        'splitter holds': tuples wait in the splitter until the state is there, and are processed first then.
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

    def control(
        self,
        *,
        passive: bool | None = None,
        paused: bool | None = None,
        goal: Goal | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Changes control while the application runs, from the next control step on.

        `passive`: log decisions and change nothing.  `paused`: measure and learn, but hold.  A new `goal` makes a new
        policy, which keeps what the old one has learned.  Arguments that are not given change nothing.
        """
        check_arguments(
            "Handle.control", passive=(passive, or_none(FLAG)), paused=(paused, or_none(FLAG)),
            goal=(goal, or_none(kind("ps.throughput() or ps.latency(...)", Goal))),
            limits=(limits, or_none(kind("ps.Limits(...)", Limits))),
        )  # fmt: skip
        problems = [*(() if goal is None else goal.problems()), *(() if limits is None else limits.problems())]
        if problems:
            raise InputError("\n".join(problems))
        change = ControlChange(passive, paused, goal, limits)
        self._change_control(change)
        asked = {"passive": passive, "paused": paused, "goal": goal, "limits": limits}
        command = {name: own for name, own in asked.items() if own is not None}
        note = {"id": command_name(time.time()), "command": command, "outcome": "done", **change.in_force}
        with contextlib.suppress(OSError):
            self._observer.history.event("control", note)

    def _change_control(self, change: ControlChange) -> None:
        if self.controller is None:
            raise InputError(
                "control was not asked for when the application started, so that there is none to change; start it "
                "with a goal, such as goal=ps.latency(p95_ms=500)"
            )
        if self.controller.failure is not None:
            raise InputError(f"control has stopped, and cannot be changed: {self.controller.failure}")
        self.controller.change(change)

    def _take_commands(self) -> None:
        """Does what others have left in the checkpoint, and notes what came of it."""
        with self._taking:
            for number, body in self._commands.taken():
                note: dict[str, Any] = {"id": number, "command": body, "outcome": "done"}
                try:
                    note |= self._do({} if body is None else body)
                except PenstockError as error:
                    note |= {"outcome": "refused", "because": str(error)}
                with contextlib.suppress(OSError):
                    self._observer.history.event("command", note)

    def _do(self, body: Mapping[str, Any]) -> dict[str, Any]:
        if not body:
            raise InputError("the command cannot be read")
        check_command(body)
        note: dict[str, Any] = {}
        change = control_change(body, Limits() if self.controller is None else self.controller.limits)
        if not change.is_empty:
            self._change_control(change)
            note = change.in_force
        if "configuration" in body:
            self.apply(configuration_from(body["configuration"], self.configuration))
        if body.get("stop"):
            self._is_stopped_by_command = True
        return note

    def dashboard(self, *, host: str = "127.0.0.1", port: int = 0) -> DashboardProcess:
        """Starts the dashboard in a process of its own, if there is none yet; prints its link and returns it."""
        if self._dashboard is None or not self._dashboard.is_alive:
            self._dashboard = start_dashboard(self.checkpoint.directory, host=host, port=port)
            print(f"dashboard: {self._dashboard.url}", flush=True)
            print(f"token: {self._dashboard.token}", file=sys.stderr)
        return self._dashboard

    def _repr_html_(self) -> str:
        """What a notebook shows: the main figures, and the link to the dashboard where there is one."""
        with self._lock:
            observations = self.result.observations[-_SHOWN_OBSERVATIONS:]
        return handle_html(self.fixed.graph.name, observations, self._dashboard.url if self._dashboard else None)

    def apply_cap(self, tuples: int) -> None:
        """Changes the cap of micro-batches alone; a Configuration applied at the same time stays."""
        with self._lock:
            self._configuration = replace(self._configuration, micro_batch_tuples=tuples)
        self._source_control.write()

    def clear_frequency(self) -> None:
        """Stops setting the frequency of cores; nothing else changes."""
        with self._lock:
            self._configuration = replace(self._configuration, frequency_ghz=None)

    def beat(self) -> None:
        """Runs a micro-batch even if no tuples have come."""
        self._source_control.beat()

    def _check(self, configuration: Configuration) -> None:
        """Raises InputError where a Configuration does not fit, or would cut state otherwise than it is."""
        check_fits(self.fixed, configuration)
        check_same_slots(self.fixed, self._configuration, configuration)

    def observe(self) -> Observation | None:
        """The newest Observation; None until the first micro-batch has ended."""
        self._observer.make()
        with self._lock:
            return self.result.observations[-1] if self.result.observations else None

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until the application has ended or failed, or the time is over; returns whether it has ended."""
        check_arguments("Handle.wait", timeout_s=(timeout_s, or_none(number(least=0))))
        with check_spark_lives():
            return self._waited(timeout_s)

    def _waited(self, timeout_s: float | None) -> bool:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._query.isActive and (deadline is None or time.monotonic() < deadline):
            if self._has_all() and self._is_committed():
                return True
            if not self._in_batch.is_set():
                self._take_commands()
            if self._is_stopped_by_command:
                return True
            self._executors.check()
            self._observer.make(idle_s=EVERY_S)
            time.sleep(0.02)
        self._note_failure()
        if self._failure is not None and not self._query.isActive:
            self._is_raised = True
            raise self._failure from None
        return not self._query.isActive

    def _note_failure(self) -> None:
        """Keeps what has ended the query, where it was not a micro-batch: Spark itself may meet a full disk first."""
        error = None if self._is_stopped_by_command else self._query.exception()
        if error is not None:
            self._failure = self._failure or self._stopped(error)

    def _has_all(self) -> bool:
        """Whether every tuple of finite sources has been taken and none of them waits."""
        if self._input_end is not None:
            return self._has_fired and not self._batches.has_waiting
        return self._total is not None and self._progress.tuples >= self._total and not self._batches.has_waiting

    def _is_at_end(self, batch: int) -> bool:
        """Whether windows are to fire what they hold, since all sources have ended with a batch."""
        return self._input_end is not None and not self._has_fired and batch >= 0 and self._input_end.is_reached(batch)

    def _is_committed(self) -> bool:
        """Whether Spark has noted that the newest batch is done."""
        return is_committed(self.checkpoint, self._progress.batch)

    def stop(self, patience_s: float = 30.0) -> RunResult:
        """Stops after the current micro-batch and returns all results so far; raises the error that ended the run.

        A micro-batch that takes longer than `patience_s` is cancelled, and runs again at the next start.  If a sink
        does not return, StopTimeoutError is raised: the sink's thread goes on, the checkpoint stays in use until it
        ends, and the batch does not count.
        """
        check_arguments("Handle.stop", patience_s=(patience_s, number(least=0)))
        deadline = time.monotonic() + patience_s
        if not self._stopping.is_set():  # a micro-batch that is refused from now on is no failure
            with contextlib.suppress(Py4JError, ConnectionError):
                self._note_failure()
        self._stopping.set()
        if self.controller is not None:  # a last micro-batch with another cap could be one of minutes
            self.controller.close(min(patience_s, _CONTROL_PATIENCE_S), gives_cap_back=False)
        with contextlib.suppress(Py4JError, ConnectionError):  # of a Spark that died there is nothing to stop
            while self._query.isActive and self._is_at_work() and time.monotonic() < deadline:
                time.sleep(0.01)
        self._gives_up = True
        if not self._has_ended():
            raise StopTimeoutError(
                f"the application did not stop within {patience_s:g} s: {self._what_holds()}; the batch runs again "
                "with the next start, once that has ended; call stop() again to wait for it"
            )
        return self._ended()

    def _is_at_work(self) -> bool:
        return self._in_batch.is_set() or not self._is_committed()

    def _has_ended(self) -> bool:
        """Stops the query in a thread of its own: Spark waits for a function of the user's without an end."""
        if self._stopper is None:
            self._stopper = threading.Thread(target=self._end, name="penstock-stop", daemon=True)
            self._stopper.start()
        deadline = time.monotonic() + _SPARK_PATIENCE_S
        while self._stopper.is_alive() and time.monotonic() < deadline:
            self._stopper.join(_SINK_PATIENCE_S)
            if self._sinks.at_work is not None:  # Spark cannot interrupt it
                break
        return not self._stopper.is_alive()

    def _what_holds(self) -> str:
        sink = self._sinks.at_work
        return "Spark does not end its tasks" if sink is None else f"sink '{sink}' is still at work on its batch"

    def _end(self) -> None:
        """Ends the query, and lets others have what it used."""
        try:
            with contextlib.suppress(Py4JError, ConnectionError):
                self._query.stop()
            self._batches.stop()
            self._observer.end(is_failed=self._failure is not None, reason=self._reason())
            if self._lease.is_held:  # else the files there are the next driver's
                sweep_sinks(self.fixed.graph, self.checkpoint, self._lease.epoch + 1, self._letters.folder)
                self.checkpoint.end(self._lease.epoch)
        except Exception as error:
            self._failure = self._failure or self._stopped(error)
        finally:
            is_held = self._lease.is_held
            self._lease.release()
            if is_held:
                self._state.end()  # a start that goes on from the checkpoint rebuilds it
            else:
                self._state.release()
            if self._scratch is not None:
                self._scratch.remove(but=r"journal\..*|lease" if self._scratch.is_shared else None)

    def _reason(self) -> tuple[str, str]:
        """How the run ends, for its journal."""
        if self._failure is not None:
            return "failed", str(self._failure)
        return ("finished" if self._has_all() else "stopped"), ""

    def _ended(self) -> RunResult:
        self.result.tables = self._sinks.tables()
        self.result.dead_letters, self.result.dead_letter_count = self._letters.table, self._letters.count
        if self._failure is not None and not self._is_raised:
            self._is_raised = True
            raise self._failure
        return self.result

    def _start(self, session: SparkSession, graph: Graph) -> StreamingQuery:
        with with_runtime_settings(session):
            frame = source_frame(session, graph, self.fixed.graph, self.checkpoint.directory, self._opened)
            writer = frame.writeStream.foreachBatch(self._run).option(
                "checkpointLocation", local_url(self.checkpoint.spark)
            )
            with given_options(session):
                return writer.trigger(processingTime="0 seconds").start()

    def _opened(self) -> float:
        """The stream is open from now on; traces begin now where this is the first time."""
        self.fixed = self.checkpoint.open_clock(self.fixed, time.time(), self._lease.check)
        self._observer.opened(self.fixed.started_at_s)
        return self.fixed.started_at_s

    def _run(self, frame: DataFrame, batch: int) -> None:
        """One micro-batch; what it raises is kept, since Spark passes on a text alone, which must be short."""
        self._take_commands()
        if self._stopping.is_set() or self._is_stopped_by_command:
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

    def _stage(self, plan: BatchPlan, result: BatchResult) -> None:
        """Adds to a batch's parts what the driver stages; parts of the batch before are done with by now."""
        self._sinks.forget(self._delivered)
        result.parts.update((name, list(own)) for name, own in self._sinks.stage(plan.batch, result.blocks).items())
        letters = self._letters.stage(plan.batch, self._lease.epoch, result.letters, durable=self.fixed.durable)
        if letters:
            result.parts[_LETTERS] = list(letters)

    def _publish(self, batch: int, parts: Parts, *, is_again: bool = False) -> None:
        """Delivers the parts of a batch that counts."""
        for name, delivered in self._sinks.publish(batch, parts, is_again=is_again).items():
            if delivered.tuples is not None:
                before = self.result.discarded.get(name, (0, 0))
                total = before[0] + delivered.tuples, add_checksums(before[1], delivered.checksum)
                with self._lock:
                    self.result.discarded[name] = total
        self._letters.publish(
            batch, parts.get(_LETTERS, ()), durable=self.fixed.durable, fence=self._lease.check,
            may_replace=self._sinks.may_replace(batch),
        )  # fmt: skip
        self._delivered = parts
        if self._gives_up:
            raise InterruptedError("the application is being stopped")
        with self._lock:
            self.result.dropped = self._sinks.dropped

    def _finish(self, batch: int, parts: Parts, plan: BatchPlan | None) -> None:
        """Delivers a batch that counted before this driver started."""
        self._publish(batch, parts, is_again=True)
        self._progress.add(batch, 0)
        self._has_fired |= plan is not None and plan.ends
        if self._is_at_end(batch):
            self._source_control.beat()

    def _deliver(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        self._sinks.keep(result.blocks)
        self._publish(plan.batch, result.parts)
        self._letters.note(result.letters)
        self._tell_history(plan, result)
        self._progress.add(plan.batch, measured.tuples_in)
        self._has_fired |= plan.ends
        if self._is_at_end(plan.batch):
            self._source_control.beat()
        controller, committed_s = self.controller, measured.moments.committed_s
        at_once = None
        if controller is not None:
            at_once = controller.is_due(committed_s, plan.configuration, measured.tuples_in)
        placer = self._batches.placer
        placer.note(plan.batch, plan.placements)
        for seen, configuration in self._observer.note(measured, plan.configuration, at_once=at_once):
            placer.learn(seen)
            if controller is not None:
                controller.committed(seen, configuration)

    def _tell_history(self, plan: BatchPlan, result: BatchResult) -> None:
        """Samples of dead letters, executors, and what is on its way to other hosts."""
        history = self._observer.history
        history.executors(plan.batch, self._executors.count())
        for table in result.letters:
            history.letters(plan.batch, table.slice(0, _SAMPLED_LETTERS).to_pylist())
        if not plan.placements and plan.target is None:
            return
        hosts = {name: list(own.hosts) for name, own in plan.placements.items()}
        target = {} if plan.target is None else {e.name: e.replicas for e in plan.target.elements}
        left = self._batches.copier.left() if plan.target is not None else {}
        moving = {name: {"slots": slots, "bytes": lacking} for name, (slots, lacking) in left.items()}
        history.moving(plan.batch, {"hosts": hosts, "target": target, "left": moving})

    def _keep(self, observations: Sequence[Observation]) -> None:
        with self._lock:
            self.result.earlier = add_bounded(self.result.observations, observations, self.result.earlier)
