"""Before the stream opens: micro-batches of made-up tuples take the path of real ones, and leave nothing behind.

They run as a query of their own, over a checkpoint of their own inside the application's (tasks on every host reach
that), with state under an id of its own.  Sinks of files get folders there, too; all other results go nowhere.
docs/design/0050-start.md has the reasons.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.arriving.backlogs import arrives
from penstock.connectors.kinds import rehearsing_sink
from penstock.connectors.offsets import offset_source
from penstock.host.paths.file_names import file_name
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import PipelineElement, pipeline_of
from penstock.runtime.driver.source_control import SourceControl
from penstock.runtime.replica.source_rows import packed
from penstock.runtime.sources.offset_reader import BEAT, AnyShare, OffsetReader, Offsets, Range, Share
from penstock.runtime.sources.stand_ins import with_stand_ins
from penstock.runtime.sources.synthetic import synthetic_batch
from penstock.spark.driver.micro_batch import MicroBatches
from penstock.spark.executors.map_stage import MapStage
from penstock.spark.session.pickling import dumps_for_workers
from penstock.spark.session.session import local_url, with_runtime_settings
from penstock.spark.sources.driver_stream import driver_stream
from penstock.state.checkpoint.checkpoint import WARM_UP, Checkpoint, Fixed
from penstock.state.memory.host_directory import HostState

_log = logging.getLogger(__name__)
_EPOCH = 1
_TUPLES, _BLOCK_ROWS = 2048, 512
# Of the last micro-batch: keys of a block are hashed by code only where it has more rows than its dictionary.
_LAST_TUPLES, _LAST_BLOCK_ROWS = 32_768, 16_384
_AGE_S = 3600.0  # so long ago the made-up stream began: its tuples have arrived
_PATIENCE_S = 60.0


def is_worthwhile(graph: Graph) -> bool:
    """Whether tuples come by themselves, so that a cold batch makes them late; tables and unbounded traces wait."""
    return any(arrives(source) for source in graph.sources)


def start_workers(session: SparkSession) -> threading.Thread:
    """Has Spark fork its Python workers while others do something else."""
    thread = threading.Thread(target=_start_workers, args=(session,), name="penstock-workers", daemon=True)
    thread.start()
    return thread


def _start_workers(session: SparkSession) -> None:
    with contextlib.suppress(Exception):  # the first batch says what is wrong
        slots = session.sparkContext.defaultParallelism
        MapStage(_nothing, "id long").after(session.range(0, slots, 1, slots)).toArrow()


def _nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def warm_up(session: SparkSession, real: Checkpoint, fixed: Fixed, configuration: Configuration) -> None:
    """Runs some micro-batches of made-up tuples; whatever goes wrong in them is logged, and the start goes on."""
    folder = real.directory / WARM_UP
    try:
        _Rehearsal(session, Checkpoint(folder), fixed, configuration).run()
    except Exception:  # the application itself may run all the same, or says what is wrong
        _log.info("the warm-up failed", exc_info=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Rehearsal:
    """A query that ends after a few batches."""

    def __init__(
        self, session: SparkSession, checkpoint: Checkpoint, fixed: Fixed, configuration: Configuration
    ) -> None:
        self._session, self._checkpoint = session, checkpoint
        graph = rehearsed(fixed.graph, checkpoint.directory)
        self._fixed = checkpoint.fix(
            graph, slots=fixed.slots, now_s=time.time() - _AGE_S, dumps=dumps_for_workers,
            slot_functions=fixed.slot_functions, state_directory=fixed.state_directory,
        )  # fmt: skip
        elements = pipeline_of(self._fixed.graph, configuration.fused).elements
        self._rounds = planned_rounds(configuration, elements, self._task_slots() or 1)
        self._ended = threading.Event()
        self._source_control = SourceControl(checkpoint.directory, self._now)
        self._batches = MicroBatches(checkpoint, self._fixed, _EPOCH, self._now, lambda *_: None)

    def run(self) -> None:
        state = HostState(self._fixed.checkpoint_id, self._fixed.state_directory)
        try:
            self._run_query()
        finally:
            self._batches.stop()
            self._checkpoint.end(_EPOCH)
            state.end()

    def _run_query(self) -> None:
        self._source_control.write()
        reader = RehearsalReader(self._checkpoint.directory, self._fixed.graph)
        with with_runtime_settings(self._session):
            writer = driver_stream(self._session, reader).writeStream.foreachBatch(self._run_batch)
            location = local_url(self._checkpoint.spark)
            query = writer.option("checkpointLocation", location).trigger(processingTime="0 seconds").start()
        deadline_s = time.monotonic() + _PATIENCE_S
        while query.isActive and not self._ended.wait(0.02) and time.monotonic() < deadline_s:
            pass
        error = query.exception()
        query.stop()
        if error is not None and not self._ended.is_set():
            raise error

    def _run_batch(self, frame: DataFrame, batch: int) -> None:
        if self._ended.is_set():
            return
        self._batches.run(frame, batch)
        if len(self._rounds) == 1:
            self._ended.set()
            return
        self._rounds = self._rounds[1:]
        self._source_control.write()

    def _now(self) -> Configuration:
        return self._rounds[0]

    def _task_slots(self) -> int | None:
        master = str(self._session.sparkContext.master)
        return int(master[6:].partition(",")[0].rstrip("]")) if master.startswith("local[") else None


def planned_rounds(
    own: Configuration, elements: Sequence[PipelineElement], task_slots: int
) -> tuple[Configuration, ...]:
    """The Configurations of a warm-up's micro-batches: the last is as configured, and alone where nothing has state.

    Only the last has blocks as large as real ones.
    With state, the first has one replica of each element, which compiles what is not in the cache: many would, all the
    same.  The next has as many as there are task slots, so that a later change finds its workers there.
    """
    last = _sized(own, _LAST_TUPLES, _LAST_BLOCK_ROWS)
    if all(e.scope == "none" for e in elements):
        return (last,)
    keyed = {e.name: own.element(e.name).replicas for e in elements if e.scope == "key"}
    one = _on(own, dict.fromkeys((e.name for e in own.elements), 1))
    wide = _on(own, {name: max(replicas, task_slots) for name, replicas in keyed.items()})
    first = (one,) if wide == own else (one, wide)
    return (*(_sized(configuration, _TUPLES, _BLOCK_ROWS) for configuration in first), last)


def _sized(configuration: Configuration, tuples: int, block_rows: int) -> Configuration:
    return replace(configuration, micro_batch_tuples=tuples, block_rows=min(block_rows, configuration.block_rows))


def _on(configuration: Configuration, replicas: dict[str, int]) -> Configuration:
    for name, wanted in replicas.items():
        if configuration.element(name).replicas != wanted:
            configuration = configuration.with_replicas(name, wanted)
    return configuration


class RehearsalReader(OffsetReader):
    """A batch at every call: of tuples that traces and tables have, and of made-up ones for other sources."""

    def __init__(self, checkpoint: str | Path, graph: Graph) -> None:
        super().__init__(checkpoint)
        self.planner.sources = {}  # made-up tuples come in their place
        self._others = [s for s in graph.sources if offset_source(s, 0) is None]

    def latestOffset(self, start: Offsets, limit: object) -> Offsets:
        return {**super().latestOffset(start, limit), BEAT: start[BEAT] + 1}

    def read(self, partition: Range | Share | AnyShare) -> Iterator[pa.RecordBatch]:
        yield from super().read(partition)
        for source in self._others:
            yield from packed([synthetic_batch(source.schema, _BLOCK_ROWS)], source, 0, DeadLetters())


def rehearsed(graph: Graph, folder: Path) -> Graph:
    """The graph with files of sinks in another folder, and nothing else written anywhere; its layout is the same.

    Stand-ins take the place of what the user wrote, but for the functions of traces: those give any tuple at any time.
    """
    operators = tuple(
        replace(o, connector=rehearsing_sink(o.connector, str(folder / "sinks" / file_name(o.name))))
        if isinstance(o, ops.Sink)
        else o
        for o in graph.operators
    )
    return with_stand_ins(replace(graph, operators=operators))
