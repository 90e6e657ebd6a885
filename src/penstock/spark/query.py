"""Applications on Spark: `start` gives a handle on a running query, `run` waits for its end."""

from __future__ import annotations

import contextlib
import json
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.app.application import Application
from penstock.app.connectors import ParquetSink
from penstock.app.graph import Graph
from penstock.control.configuration import (
    SLOTS,
    Configuration,
    ElementConfiguration,
    check_configuration,
    default_configuration,
    even_route,
)
from penstock.element.dead_letters import SCHEMA as LETTERS
from penstock.element.ordering import in_order
from penstock.element.row_checksum import add_checksums
from penstock.element.state.lease import Lease
from penstock.element.state.slot_functions import SlotFunction
from penstock.element.state.whole_file import write_whole
from penstock.errors import InputError, PenstockError
from penstock.measure.observation import Observation
from penstock.plan.pipeline import pipeline_of
from penstock.spark.checkpoint import BatchPlan, Checkpoint, Fixed
from penstock.spark.executors import ExecutorWatch, wait_for_executors
from penstock.spark.failures import stopped, told_if_spark_died
from penstock.spark.letter_box import LetterBox
from penstock.spark.micro_batch import BatchResult, MicroBatches
from penstock.spark.observer import Observer
from penstock.spark.offset_sources import offset_source
from penstock.spark.progress import Progress
from penstock.spark.session import open_session, with_runtime_settings
from penstock.spark.sinks import SinkDelivery
from penstock.spark.source_frames import check_sources, prepared, session_of, source_frame
from penstock.spark.staged_file import sweep_staged
from penstock.spark.state_slots import keeps_state, slot_function, state_slots

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class RunResult:
    """What a run gave: tables of memory sinks, counts and checksums of discarding ones, and every Observation.

    `dead_letters` has the first of them, `dead_letter_count` says how many there were.
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    discarded: dict[str, tuple[int, int]] = field(default_factory=dict)
    dead_letters: pa.Table = field(default_factory=LETTERS.empty_table)
    dead_letter_count: int = 0
    observations: list[Observation] = field(default_factory=list)


class Handle:
    """A running application: observe it, change its Configuration, stop it."""

    def __init__(
        self,
        session: SparkSession,
        checkpoint: Checkpoint,
        lease: Lease,
        fixed: Fixed,
        configuration: Configuration,
        graph: Graph,
        letters: LetterBox,
    ) -> None:
        self.session, self.fixed, self.checkpoint, self._lease = session, fixed, checkpoint, lease
        self._configuration = configuration
        self._lock = threading.Lock()
        self.result = RunResult()
        self._sinks, self._letters = SinkDelivery(graph, session, durable=fixed.durable), letters
        self._failure: PenstockError | None = None
        self._total = _total(fixed.graph)
        self._progress = Progress(checkpoint.directory / "progress", durable=fixed.durable)
        self._executors = ExecutorWatch(session)
        self._observer = Observer(session, checkpoint, fixed)
        self._batches = MicroBatches(
            checkpoint, fixed, lease.epoch, lambda: self.configuration, self._deliver,
            accept=lambda result: letters.refuse(result.letters),
        )  # fmt: skip
        self._beat = 0
        self._write_intake()
        self._query = self._observer.query = self._start(session, graph)

    @property
    def configuration(self) -> Configuration:
        """The Configuration of the next micro-batch."""
        return self._configuration

    def apply(self, configuration: Configuration) -> None:
        """Puts a Configuration in force at the next micro-batch."""
        self._check(configuration)
        self._configuration = configuration
        self._write_intake()

    def _check(self, configuration: Configuration) -> None:
        """Raises InputError where a Configuration does not fit, or would cut state otherwise than it is."""
        pipeline = self._batches.layout(configuration).pipeline
        check_configuration(configuration, pipeline)
        now = self._batches.layout(self._configuration).pipeline
        for operator in self.fixed.graph.operators:
            slots = [state_slots(self.fixed, p, operator.name).slots for p in (now, pipeline)]
            if keeps_state(operator) and slots[0] != slots[1]:
                raise InputError(f"operator '{operator.name}' keeps its state in {slots[0]} slots while it runs, and "
                                 f"would need {slots[1]} when fused so; leave its element as it is")  # fmt: skip

    def observe(self) -> Observation | None:
        """The newest Observation, None before the first micro-batch is over."""
        with self._lock:
            return self.result.observations[-1] if self.result.observations else None

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until a finite application is done, a failure, or the time is over; tells whether it has ended."""
        with told_if_spark_died():
            return self._waited(timeout_s)

    def _waited(self, timeout_s: float | None) -> bool:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._query.isActive and (deadline is None or time.monotonic() < deadline):
            if self._total is not None and self._progress.tuples >= self._total:
                return True
            self._executors.check()
            time.sleep(0.02)
        error = self._query.exception()
        if error is not None:
            raise (self._failure or self._stopped(error)) from None
        return not self._query.isActive

    def stop(self) -> RunResult:
        """Ends the query after the micro-batch at hand, and gives all results so far."""
        with contextlib.suppress(Py4JError, ConnectionError):  # of a Spark that died there is nothing to stop
            self._query.stop()
        _sweep_sinks(self.fixed.graph, self._lease.epoch + 1)
        self._lease.release()
        self.result.tables = self._sinks.tables()
        self.result.dead_letters, self.result.dead_letter_count = self._letters.table, self._letters.count
        return self.result

    def _start(self, session: SparkSession, graph: Graph) -> StreamingQuery:
        with with_runtime_settings(session):
            frame = source_frame(session, graph, self.fixed.graph, self.checkpoint.directory)
            writer = frame.writeStream.foreachBatch(self._run).option("checkpointLocation", self.checkpoint.spark)
            return writer.trigger(processingTime="0 seconds").start()

    def _run(self, frame: DataFrame, batch: int) -> None:
        """One micro-batch; what it raises is kept, since Spark passes on a text alone, which must be short."""
        try:
            self._batches.run(frame, batch)
        except Exception as error:
            _log.info("micro-batch %d failed", batch, exc_info=True)
            self._failure = self._stopped(error)
            raise self._failure from None

    def _stopped(self, error: BaseException) -> PenstockError:
        return stopped(error, [str(self.checkpoint.directory), tempfile.gettempdir()])

    def _deliver(self, plan: BatchPlan, result: BatchResult, observation: Observation) -> None:
        for name, blocks in result.blocks.items():
            ordered = in_order([block for _, block in sorted(blocks, key=lambda pair: pair[0])])
            self._sinks.deliver(plan, name, ordered)
        self._letters.add(plan.batch, result.letters)
        observation = self._observer.completed(observation, result.reports, plan.configuration)
        with self._lock:
            for name, (count, total) in result.discarded.items():
                before = self.result.discarded.get(name, (0, 0))
                self.result.discarded[name] = (before[0] + count, add_checksums(before[1], total))
            self.result.observations.append(observation)
        self._progress.add(plan.batch, observation.tuples_in)

    def _write_intake(self) -> None:
        configuration = self._configuration
        body = {
            "micro_batch_tuples": configuration.micro_batch_tuples,
            "block_rows": configuration.block_rows,
            "tasks": configuration.elements[0].replicas,
            "beat": self._beat,
        }
        path = str(self.checkpoint.directory / "intake")
        write_whole("writing what the source may take in", path, json.dumps(body).encode())


def start(
    app: Application,
    *,
    master: str = "local[*]",
    checkpoint: str | Path | None = None,
    configuration: Configuration | None = None,
    slots: int = SLOTS,
    durable: bool = False,
    slot_functions: Mapping[str, SlotFunction] | None = None,
    dead_letters: str | Path | None = None,
    on_error: str = "dead_letter",
    session: SparkSession | None = None,
) -> Handle:
    """Starts an application on Spark and gives a handle on it.

    State by key is cut into `slots` by hash, or as `slot_functions` say for the operators they name; that stays so for
    the life of the checkpoint.  Tuples that cannot be used are written to the directory `dead_letters`, if there is
    one; with `on_error='fail'` the first of them stops the application.
    """
    graph = app.graph
    check_sources(graph)
    letters = LetterBox(dead_letters, on_error=on_error)
    directory = Checkpoint(checkpoint or tempfile.mkdtemp(prefix="penstock-"))
    return launch(
        graph, directory, letters, configuration=configuration, slots=slots, durable=durable,
        slot_functions=slot_functions, session=lambda: session or session_of(graph) or open_session(master),
    )  # fmt: skip


def launch(
    graph: Graph,
    directory: Checkpoint,
    letters: LetterBox,
    *,
    session: Callable[[], SparkSession],
    configuration: Configuration | None = None,
    block_rows: int | None = None,
    slots: int = SLOTS,
    durable: bool = False,
    slot_functions: Mapping[str, SlotFunction] | None = None,
) -> Handle:
    """Starts a graph whose sources were checked; the session is opened once nothing else can be wrong."""
    lease = Lease(str(directory.directory))
    try:
        directory.sweep()
        fixed = directory.fix(
            graph, slots=slots, now_s=time.time(), durable=durable, slot_functions=slot_functions,
            prepare=lambda graph: prepared(graph, directory.directory, letters),
        )  # fmt: skip
        if configuration is not None:
            check_configuration(configuration, pipeline_of(fixed.graph, configuration.unfused))
        _sweep_sinks(fixed.graph, lease.epoch)
        spark = session()
        wait_for_executors(spark)
        chosen = configuration or _default(fixed, spark.sparkContext.defaultParallelism, block_rows)
        return Handle(spark, directory, lease, fixed, chosen, graph, letters)
    except BaseException:
        lease.release()
        raise


def run(
    app: Application,
    *,
    master: str = "local[*]",
    checkpoint: str | Path | None = None,
    duration_s: float | None = None,
    configuration: Configuration | None = None,
    durable: bool = False,
    dead_letters: str | Path | None = None,
    on_error: str = "dead_letter",
    session: SparkSession | None = None,
) -> RunResult:
    """Runs an application on Spark until its sources are exhausted or the time is over; arguments as with `start`."""
    handle = start(
        app, master=master, checkpoint=checkpoint, configuration=configuration, durable=durable,
        dead_letters=dead_letters, on_error=on_error, session=session,
    )  # fmt: skip
    try:
        handle.wait(duration_s)
    finally:
        result = handle.stop()
    return result


def _sweep_sinks(graph: Graph, epoch: int) -> None:
    """Deletes what drivers before an epoch wrote for sinks and never published."""
    for sink in graph.sinks:
        if isinstance(sink.connector, ParquetSink):
            sweep_staged(sink.connector, epoch)


def _default(fixed: Fixed, replicas: int, block_rows: int | None) -> Configuration:
    """Every element on as many replicas as there are task slots, its slots dealt out evenly."""
    pipeline = pipeline_of(fixed.graph)
    configuration = default_configuration(pipeline, replicas, fixed.slots)
    if block_rows is not None:
        configuration = replace(configuration, block_rows=block_rows)
    for element in pipeline.elements:
        if element.scope == "key":
            route = even_route(replicas, slot_function(fixed, element).slots)
            configuration = configuration.with_element(ElementConfiguration(element.name, replicas, route))
    return configuration


def _total(graph: Graph) -> int | None:
    sources = [offset_source(source, 0) for source in graph.sources]
    totals = [None if source is None else source.total for source in sources]
    return None if any(t is None for t in totals) else sum(t for t in totals if t is not None)
