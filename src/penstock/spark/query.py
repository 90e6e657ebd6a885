"""Applications on Spark: `start` gives a handle on a running query, `run` waits for its end."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakSet

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.app.application import Application
from penstock.app.connectors import MemorySink, RecordedSource, TraceSource
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
from penstock.errors import ApplicationError, InputError, Problem
from penstock.measure.observation import Observation
from penstock.plan.pipeline import pipeline_of
from penstock.spark.checkpoint import BatchPlan, Checkpoint, Fixed
from penstock.spark.micro_batch import BatchResult, MicroBatches
from penstock.spark.observer import Observer
from penstock.spark.offset_reader import NAME, OffsetDataSource
from penstock.spark.offset_sources import offset_source
from penstock.spark.progress import Progress
from penstock.spark.session import open_session
from penstock.spark.state_slots import keeps_state, slot_function, state_slots

_registered: WeakSet[SparkSession] = WeakSet()  # sessions that know our data source


@dataclass(slots=True)
class RunResult:
    """What a run gave: tables of memory sinks, counts and checksums of discarding ones, and every Observation."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    discarded: dict[str, tuple[int, int]] = field(default_factory=dict)
    dead_letters: pa.Table = field(default_factory=LETTERS.empty_table)
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
    ) -> None:
        self.fixed, self.checkpoint, self._lease = fixed, checkpoint, lease
        self._configuration = configuration
        self._lock = threading.Lock()
        self.result = RunResult()
        self._blocks: dict[str, list[pa.RecordBatch]] = {sink.name: [] for sink in fixed.graph.sinks}
        self._total = _total(fixed.graph)
        self._progress = Progress(checkpoint.directory / "progress")
        self._observer = Observer(session, checkpoint, fixed)
        self._batches = MicroBatches(checkpoint, fixed, lease.epoch, lambda: self.configuration, self._deliver)
        self._beat = 0
        self._write_intake()
        self._query = self._observer.query = self._start(session)

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
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._query.isActive and (deadline is None or time.monotonic() < deadline):
            if self._total is not None and self._progress.tuples >= self._total:
                return True
            time.sleep(0.02)
        error = self._query.exception()
        if error is not None:
            raise InputError(f"the application stopped: {_short(str(error))}")
        return not self._query.isActive

    def stop(self) -> RunResult:
        """Ends the query after the micro-batch at hand, and gives all results so far."""
        self._query.stop()
        self._lease.release()
        for name, batches in self._blocks.items():
            schema = self.fixed.graph.operator(name).schema
            if isinstance(self.fixed.graph.operator(name).connector, MemorySink):  # type: ignore[union-attr]
                self.result.tables[name] = pa.Table.from_batches(batches, schema).unify_dictionaries()
        return self.result

    def _start(self, session: SparkSession) -> StreamingQuery:
        if session not in _registered:
            session.dataSource.register(OffsetDataSource)
            _registered.add(session)
        frame = session.readStream.format(NAME).option("checkpoint", str(self.checkpoint.directory)).load()
        writer = frame.writeStream.foreachBatch(self._batches.run).option("checkpointLocation", self.checkpoint.spark)
        return writer.trigger(processingTime="0 seconds").start()

    def _deliver(self, plan: BatchPlan, result: BatchResult, observation: Observation) -> None:
        observation = self._observer.completed(observation, result.reports, plan.configuration)
        with self._lock:
            for name, (count, total) in result.discarded.items():
                before = self.result.discarded.get(name, (0, 0))
                self.result.discarded[name] = (before[0] + count, add_checksums(before[1], total))
            for name, blocks in result.blocks.items():
                self._blocks[name].append(
                    in_order([block for _, block in sorted(blocks, key=lambda p: p[0])]).to_arrow()
                )
            if result.letters:
                self.result.dead_letters = pa.concat_tables([self.result.dead_letters, *result.letters])
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
        path = self.checkpoint.directory / "intake"
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(body))
        draft.replace(path)


def start(
    app: Application,
    *,
    master: str = "local[*]",
    checkpoint: str | Path | None = None,
    configuration: Configuration | None = None,
    slots: int = SLOTS,
    durable: bool = False,
    slot_functions: Mapping[str, SlotFunction] | None = None,
    session: SparkSession | None = None,
) -> Handle:
    """Starts an application on Spark and gives a handle on it.

    State by key is cut into `slots` by hash, or as `slot_functions` say for the operators they name; that stays so for
    the life of the checkpoint.
    """
    graph = app.graph
    _check_runs_on_spark(graph)
    directory = Checkpoint(checkpoint or tempfile.mkdtemp(prefix="penstock-"))
    lease = Lease(str(directory.directory))
    try:
        fixed = directory.fix(graph, slots=slots, now_s=time.time(), durable=durable, slot_functions=slot_functions)
        spark = session or open_session(master)
        chosen = configuration or _default(fixed, spark.sparkContext.defaultParallelism)
        check_configuration(chosen, pipeline_of(fixed.graph, chosen.unfused))
        return Handle(spark, directory, lease, fixed, chosen)
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
    session: SparkSession | None = None,
) -> RunResult:
    """Runs an application on Spark until its sources are exhausted or the time is over."""
    handle = start(app, master=master, checkpoint=checkpoint, configuration=configuration, session=session)
    try:
        handle.wait(duration_s)
    finally:
        result = handle.stop()
    return result


def _check_runs_on_spark(graph: Graph) -> None:
    """All sources that Spark cannot read, reported together."""
    problems = []
    for source in graph.sources:
        where = f"operator '{source.name}'" + (f" ({source.place})" if source.place else "")
        if not isinstance(source.connector, TraceSource | RecordedSource):
            problems.append(Problem(where, "has no source that Spark can read yet", "use ps.sources.trace(...)"))
    if problems:
        raise ApplicationError(problems)


def _default(fixed: Fixed, replicas: int) -> Configuration:
    """Every element on as many replicas as there are task slots, its slots dealt out evenly."""
    pipeline = pipeline_of(fixed.graph)
    configuration = default_configuration(pipeline, replicas, fixed.slots)
    for element in pipeline.elements:
        if element.scope == "key":
            route = even_route(replicas, slot_function(fixed, element).slots)
            configuration = configuration.with_element(ElementConfiguration(element.name, replicas, route))
    return configuration


def _total(graph: Graph) -> int | None:
    sources = [offset_source(source, 0) for source in graph.sources]
    totals = [None if source is None else source.total for source in sources]
    return None if any(t is None for t in totals) else sum(t for t in totals if t is not None)


def _short(text: str, most: int = 400) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most] + " ..."
