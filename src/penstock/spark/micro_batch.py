"""The micro-batch: planned from the Configuration in force, run by exactly one action, and published."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.app.connectors import ParquetSink
from penstock.control.configuration import Configuration
from penstock.element.block import Block
from penstock.element.envelope import unseal
from penstock.element.row_checksum import add_checksums
from penstock.element.state.entries import ENTRY, Entries
from penstock.element.state.garbage import collect_garbage
from penstock.element.state.ledger import Ledger
from penstock.element.state.logs import Logs
from penstock.element.state.manifests import Manifests
from penstock.measure.batch_figures import BatchTimer, observation_of
from penstock.measure.observation import Observation
from penstock.measure.task_figures import TaskReport, decode
from penstock.plan.layout import Layout, layout_of
from penstock.plan.pipeline import INTAKE
from penstock.plan.placement import Placement
from penstock.spark import message
from penstock.spark.checkpoint import BatchPlan, Checkpoint, Fixed
from penstock.spark.learned_by_replica import LearnedByReplica
from penstock.spark.map_stage import MapStage
from penstock.spark.message import Message, messages_of
from penstock.spark.placer import Placer, placed
from penstock.spark.rolled_back import again_if_rolled_back
from penstock.spark.spark_log import sync_spark_log
from penstock.spark.staged_file import publish_files
from penstock.spark.state_slots import state_slots
from penstock.spark.worker import run_element

_CLEAN_EVERY_BATCHES = 16


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came back from the tasks of one batch."""

    entries: dict[str, Entries] = field(default_factory=dict)
    discarded: dict[str, tuple[int, int]] = field(default_factory=dict)
    blocks: dict[str, list[tuple[int, Block]]] = field(default_factory=dict)
    files: list[tuple[str, str]] = field(default_factory=list)
    letters: list[pa.Table] = field(default_factory=list)
    reports: dict[str, list[TaskReport]] = field(default_factory=dict)  # by element


class MicroBatches:
    """Runs batch after batch of one query; `configuration` gives the one of the next.

    `accept` raises where a batch must not count, `deliver` takes the results of one that does; what is done inside of
    `measuring` counts as such.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        fixed: Fixed,
        epoch: int,
        configuration: Callable[[], Configuration],
        deliver: Callable[[BatchPlan, BatchResult, Observation], None],
        accept: Callable[[BatchResult], None] = lambda result: None,
        measuring: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.checkpoint, self.fixed, self.epoch = checkpoint, fixed, epoch
        self.configuration, self.deliver, self.accept = configuration, deliver, accept
        self.measuring = measuring
        self.manifests = Manifests(checkpoint.manifests)
        self.placer, self._learned = Placer(), LearnedByReplica()
        self._known: tuple[int, dict[str, Ledger]] = (-1, {})
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self._stages: dict[tuple[tuple[str, ...], int], MapStage] = {}

    def run(self, frame: DataFrame, batch: int) -> None:
        """The function that `foreachBatch` calls."""
        timer = BatchTimer(batch)
        if self.fixed.durable:
            sync_spark_log(self.checkpoint.spark, batch)
        plan = self._plan(frame, batch)
        timer.planned()
        result = again_if_rolled_back(lambda: self._gathered(self.run_tasks(frame, plan)))
        timer.ran()
        self.accept(result)
        self._publish(plan, result)
        for sink in self.fixed.graph.sinks:
            if isinstance(sink.connector, ParquetSink) and not sink.connector.ordered:
                staged = [file for name, file in result.files if name == sink.name]
                publish_files(sink.connector, batch, staged, durable=self.fixed.durable)
        timer.committed()
        self._learned.take(result.reports)
        with self.measuring():
            observation = self._observation(timer, plan, result)
        self.deliver(plan, result, observation)

    def _observation(self, timer: BatchTimer, plan: BatchPlan, result: BatchResult) -> Observation:
        first, sinks = plan.configuration.elements[0].name, {sink.name for sink in self.fixed.graph.sinks}
        letters = sum(table.num_rows for table in result.letters)
        return observation_of(timer, result.reports, first, sinks, letters)

    def _plan(self, frame: DataFrame, batch: int) -> BatchPlan:
        """The plan of a batch; a batch that ran before keeps its Configuration, under this driver's epoch."""
        earlier = self.checkpoint.plan(batch)
        configuration = self.configuration() if earlier is None else earlier.configuration
        before = earlier or self.checkpoint.plan(batch - 1)
        placements = self.placements(frame, configuration, before.placements if before else {})
        learned = self._learned.for_plan(configuration, before.learned if before else {})
        plan = BatchPlan(batch, self.epoch, self._before(batch), configuration, placements, learned)
        self.checkpoint.write_plan(plan, durable=self.fixed.durable)
        return plan

    def placements(
        self, frame: DataFrame, configuration: Configuration, before: Mapping[str, Placement]
    ) -> Mapping[str, Placement]:
        """The hosts of replicas, where there are several."""
        pipeline = self.layout(configuration).pipeline
        return self.placer.placements(frame.sparkSession, pipeline, configuration, before)

    def layout(self, configuration: Configuration) -> Layout:
        """How the graph is laid out by a Configuration."""
        if configuration.unfused not in self._layouts:
            self._layouts[configuration.unfused] = layout_of(self.fixed.graph, configuration.unfused)
        return self._layouts[configuration.unfused]

    def _before(self, batch: int) -> int | None:
        """The newest batch before this one whose state counts; mostly the one published last."""
        if batch and self._known[0] == batch - 1:
            return batch - 1
        return max((b for b in self.manifests.batches() if b < batch), default=None)

    def _pipeline(self, frame: DataFrame, plan: BatchPlan) -> DataFrame:
        configuration = plan.configuration
        for number, element in enumerate(configuration.elements):
            if number:
                frame = frame.repartitionById(element.replicas, F.col("replica"))
                frame = placed(frame, plan.placements.get(element.name))
            frame = self._stage(configuration.unfused, number).after(frame)
        return frame

    def _stage(self, unfused: tuple[str, ...], number: int) -> MapStage:
        key = (unfused, number)
        if key not in self._stages:
            directory = str(self.checkpoint.directory)
            function = functools.partial(run_element, directory, self.epoch, unfused, number)
            self._stages[key] = MapStage(function, message.SQL)
        return self._stages[key]

    def run_tasks(self, frame: DataFrame, plan: BatchPlan) -> Iterable[Message]:
        """The one action of a batch: what its tasks have to say."""
        for batch in self._pipeline(frame, plan).toArrow().to_batches():
            yield from messages_of(batch)

    def _gathered(self, messages: Iterable[Message]) -> BatchResult:
        result = BatchResult()
        for m in messages:
            self._take(m, result)
        return result

    def _take(self, m: Message, result: BatchResult) -> None:
        payload = memoryview(m.payload)
        if m.kind == message.STATE:
            own = np.frombuffer(payload, ENTRY)
            result.entries[m.name] = np.concatenate([result.entries[m.name], own]) if m.name in result.entries else own
        elif m.kind == message.DISCARD:
            count, total = (int(x) for x in np.frombuffer(payload, np.uint64))
            before = result.discarded.get(m.name, (0, 0))
            result.discarded[m.name] = (before[0] + count, add_checksums(before[1], total))
        elif m.kind == message.SINK:
            schema = self.fixed.graph.operator(m.name).schema
            result.blocks.setdefault(m.name, []).append((m.sequence, unseal(m.payload, schema)))
        elif m.kind == message.FILE:
            result.files.append((m.name, bytes(payload).decode()))
        elif m.kind == message.LETTERS:
            result.letters.append(pa.ipc.open_stream(m.payload).read_all())
        elif m.kind == message.MEASURE:
            with self.measuring():
                result.reports.setdefault(m.name, []).append(decode(payload))

    def _publish(self, plan: BatchPlan, result: BatchResult) -> None:
        before = dict(self._ledgers(plan.previous))
        for name in result.entries:
            before.setdefault(name, Ledger.empty(self._slots(name, plan.configuration)))
        after = self.manifests.publish(
            plan.batch, plan.epoch, before, result.entries, previous=plan.previous, durable=self.fixed.durable
        )
        self._known = (plan.batch, after)
        if plan.previous is not None and plan.batch % _CLEAN_EVERY_BATCHES == 0:
            self._clean(plan.previous, before)

    def _ledgers(self, batch: int | None) -> dict[str, Ledger]:
        """The ledgers after a batch; mostly the ones published last."""
        if batch is None:
            return {}
        return self._known[1] if self._known[0] == batch else self.manifests.ledgers(batch)

    def _clean(self, oldest: int, ledgers: dict[str, Ledger]) -> None:
        """Deletes what no replay can need: the batch at hand may run again, from the state before it."""
        logs = {name: Logs(self.checkpoint.logs(name), self.fixed.durable) for name in ledgers}
        collect_garbage(self.manifests, logs, ledgers, oldest)
        self.checkpoint.forget_plans(oldest)

    def _slots(self, operator: str, configuration: Configuration) -> int:
        pipeline = self.layout(configuration).pipeline
        return 1 if operator == INTAKE else state_slots(self.fixed, pipeline, operator).slots
