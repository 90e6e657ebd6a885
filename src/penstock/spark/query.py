"""Applications on Spark: `start` gives a handle on a running query, `run` waits for its end."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.app.application import Application
from penstock.app.connectors import DiscardSink, MemorySink, ParquetSink, TraceSource
from penstock.app.graph import Graph
from penstock.app.operators import Aggregate, Functor, Map, Sink, Source, Split, Union
from penstock.control.configuration import SLOTS, Configuration, check_configuration, default_configuration
from penstock.element.dead_letters import SCHEMA as LETTERS
from penstock.element.operators.stored_aggregate import can_be_stored
from penstock.element.row_checksum import add_checksums
from penstock.element.state.lease import Lease
from penstock.errors import ApplicationError, InputError, Problem
from penstock.measure.observation import Observation
from penstock.plan.order import streams_with_positions
from penstock.plan.pipeline import pipeline_of
from penstock.spark.checkpoint import BatchPlan, Checkpoint, Fixed
from penstock.spark.micro_batch import BatchResult, MicroBatches, in_order
from penstock.spark.observer import Observer
from penstock.spark.progress import Progress
from penstock.spark.session import open_session
from penstock.spark.trace_reader import NAME, TraceDataSource

_STATELESS = (Source, Functor, Split, Map, Sink, Union)


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
        self._write_intake()
        self._query = self._observer.query = self._start(session)

    @property
    def configuration(self) -> Configuration:
        """The Configuration of the next micro-batch."""
        return self._configuration

    def apply(self, configuration: Configuration) -> None:
        """Puts a Configuration in force at the next micro-batch."""
        check_configuration(configuration, self.fixed.pipeline)
        self._configuration = configuration
        self._write_intake()

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
        session.dataSource.register(TraceDataSource)
        frame: DataFrame | None = None
        for source in self.fixed.graph.sources:
            own = (
                session.readStream.format(NAME)
                .option("checkpoint", str(self.checkpoint.directory))
                .option("source", source.name)
                .load()
            )
            frame = own if frame is None else frame.union(own)
        assert frame is not None
        writer = frame.writeStream.foreachBatch(self._batches.run).option("checkpointLocation", self.checkpoint.spark)
        return writer.trigger(processingTime="0 seconds").start()

    def _deliver(self, plan: BatchPlan, result: BatchResult, observation: Observation) -> None:
        first = self._progress.before(plan.batch)
        observation = self._observer.completed(observation, result.reports, first, plan.configuration)
        with self._lock:
            for name, (count, total) in result.discarded.items():
                before = self.result.discarded.get(name, (0, 0))
                self.result.discarded[name] = (before[0] + count, add_checksums(before[1], total))
            for name, blocks in result.blocks.items():
                self._blocks[name].append(in_order(blocks).to_arrow())
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
    session: SparkSession | None = None,
) -> Handle:
    """Starts an application on Spark and gives a handle on it."""
    graph = app.graph
    pipeline = pipeline_of(graph)
    _check_runs_on_spark(graph)
    directory = Checkpoint(checkpoint or tempfile.mkdtemp(prefix="penstock-"))
    lease = Lease(str(directory.directory))
    try:
        positioned = _positioned(graph)
        fixed = directory.fix(graph, pipeline, slots=slots, now_s=time.time(), durable=durable, positioned=positioned)
        spark = session or open_session(master)
        chosen = configuration or default_configuration(fixed.pipeline, spark.sparkContext.defaultParallelism, slots)
        check_configuration(chosen, fixed.pipeline)
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


def _positioned(graph: Graph) -> frozenset[str]:
    """Streams that must know their order: those that are merged, and those that lead to a sink that keeps it."""
    needed = set(streams_with_positions(graph))
    for operator in reversed(graph.operators):
        keeps = isinstance(operator, Sink) and not isinstance(operator.connector, DiscardSink | ParquetSink)
        if keeps or any(stream in needed for stream in operator.outputs):
            needed.update((operator.name,) if keeps else (), *[operator.inputs])
    return frozenset(needed)


def _check_runs_on_spark(graph: Graph) -> None:
    """All operators that cannot run on Spark yet, reported together."""
    problems = []
    for operator in graph.operators:
        where = f"operator '{operator.name}'" + (f" ({operator.place})" if operator.place else "")
        if isinstance(operator, Source) and not isinstance(operator.connector, TraceSource):
            problems.append(Problem(where, "has no source that Spark can read yet", "use ps.sources.trace(...)"))
        elif isinstance(operator, Aggregate):
            if not can_be_stored(operator, graph.producer(operator.inputs[0]).schema):
                problems.append(Problem(where, "keeps state that is not rows by key, which runs only in-process yet"))
        elif not isinstance(operator, _STATELESS):
            problems.append(Problem(where, f"is a {type(operator).__name__.lower()}, which runs only in-process yet"))
    if len(graph.sources) > 1:
        problems.append(Problem(f"application '{graph.name}'", "has several sources, which run only in-process yet"))
    if problems:
        raise ApplicationError(problems)


def _total(graph: Graph) -> int | None:
    totals = [s.connector.open().total for s in graph.sources if isinstance(s.connector, TraceSource)]
    return None if any(t is None for t in totals) else sum(t for t in totals if t is not None)


def _short(text: str, most: int = 400) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most] + " ..."
