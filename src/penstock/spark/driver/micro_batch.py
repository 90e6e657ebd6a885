"""The micro-batch: planned from the Configuration in force, run by exactly one action, and published."""

from __future__ import annotations

import functools
import pickle
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.block.block import Block
from penstock.block.envelope import unseal
from penstock.connectors.files.staged_file import publish_files
from penstock.connectors.parquet import ParquetSink
from penstock.measure.batch.batch_figures import Moments
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.plan.configuration import Configuration
from penstock.plan.elements.layout import Layout, layout_of
from penstock.plan.elements.pipeline import INTAKE
from penstock.runtime.driver.rolled_back import again_if_rolled_back
from penstock.runtime.driver.sink_folders import sweep_batches
from penstock.runtime.driver.thread_memory import ThreadMemory
from penstock.runtime.migration.copier import BackgroundCopier, Copier
from penstock.runtime.migration.copies import Movable, Portion, Published
from penstock.runtime.migration.held_tuples import held_entries
from penstock.runtime.migration.migration import PRE_COPY, Migrator, Situation, movable_elements
from penstock.runtime.migration.stale_copies import Leftover
from penstock.runtime.migration.waiting_tuples import (
    Waiting,
    element_of,
    elements_with_held,
    elements_with_waiting,
    is_held_name,
    is_waiting_name,
)
from penstock.runtime.replica import message
from penstock.runtime.replica.message import Message, messages_of
from penstock.runtime.slots.state_slots import slot_function, state_slots
from penstock.spark.executors.copy_job import run_copy, run_release
from penstock.spark.executors.map_stage import MapStage
from penstock.spark.executors.placer import Placer, placed
from penstock.spark.executors.worker import run_element
from penstock.spark.session.offset_log import sync_spark_log
from penstock.state.checkpoint.checkpoint import BatchPlan, Checkpoint, Fixed
from penstock.state.checkpoint.entries import ENTRY, Entries
from penstock.state.checkpoint.garbage import collect_garbage
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.extents import Integers
from penstock.state.slots.row_checksum import add_checksums

_CLEAN_EVERY_BATCHES = 16


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came back from the tasks of one batch."""

    entries: dict[str, Entries] = field(default_factory=dict)
    discarded: dict[str, tuple[int, int]] = field(default_factory=dict)
    blocks: dict[str, list[tuple[int, Block]]] = field(default_factory=dict)
    files: list[tuple[str, str]] = field(default_factory=list)
    letters: list[pa.Table] = field(default_factory=list)
    held: dict[str, list[Waiting]] = field(default_factory=dict)  # by element, what the splitter holds of the batch
    waiting_tuples: list[int] = field(default_factory=list)  # that were put off, by task
    resumed_tuples: list[int] = field(default_factory=list)  # that were put off before, and go on
    reports: list[tuple[str, bytes]] = field(default_factory=list)  # element, report as it came
    taken_tuples: dict[str, int] = field(default_factory=dict)  # by element
    learned: list[tuple[str, int, str]] = field(default_factory=list)  # element, replica, what it has found


class MicroBatches:
    """Runs batch after batch of one query; `configuration` gives the one wanted of the next, `migration` the way to it.

    `accept` raises where a batch must not count, `deliver` takes the results of one that does.  `wake` has a batch run
    although no tuples came.  `own_cap`: of micro-batches without control, None where nobody controls.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        fixed: Fixed,
        epoch: int,
        configuration: Callable[[], Configuration],
        deliver: Callable[[BatchPlan, BatchResult, MeasuredBatch], None],
        accept: Callable[[BatchResult], None] = lambda result: None,
        migration: Callable[[], str] = lambda: PRE_COPY,
        wake: Callable[[], None] = lambda: None,
        own_cap: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.checkpoint, self.fixed, self.epoch = checkpoint, fixed, epoch
        self.configuration, self.deliver, self.accept = configuration, deliver, accept
        self._sinks = frozenset(sink.name for sink in fixed.graph.sinks)
        self.manifests = Manifests(checkpoint.manifests)
        self.migration, self.wake, self.own_cap = migration, wake, own_cap
        self.placer, self._learned = Placer(), ThreadMemory()
        self._session: SparkSession | None = None
        self.in_force: Configuration | None = None  # of the newest batch
        self.copier = self.make_copier()
        self._migrator = Migrator(self.copier)
        self._known: tuple[int, dict[str, Ledger]] = self._newest()
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self._movables: dict[tuple[str, ...], dict[str, Movable]] = {}
        self._stages: dict[tuple[tuple[str, ...], int], MapStage] = {}

    def run(self, frame: DataFrame, batch: int) -> None:
        """The function that `foreachBatch` calls."""
        began_s = time.time()
        if self.fixed.durable:
            sync_spark_log(self.checkpoint.spark, batch)
        plan = self._plan(frame, batch)
        planned_s = time.time()
        result = again_if_rolled_back(lambda: self._gathered(self.run_tasks(frame, plan)))
        ran_s = time.time()
        self.accept(result)
        self._publish(plan, result)
        for sink in self.fixed.graph.sinks:
            if isinstance(sink.connector, ParquetSink) and not sink.connector.ordered:
                staged = [file for name, file in result.files if name == sink.name]
                publish_files(sink.connector, batch, staged, durable=self.fixed.durable)
        moments = Moments(began_s, planned_s, ran_s, time.time())
        self._learned.take(result.learned)
        self.deliver(plan, result, self._measured(moments, plan, result))
        if self.has_waiting:
            self.wake()

    @property
    def has_waiting(self) -> bool:
        """Whether tuples were taken that wait for their slots to come to another host."""
        return bool(elements_with_waiting(self._known[1]))

    def make_copier(self) -> Copier:
        """Who copies slots beside the batches."""
        return BackgroundCopier(self.run_copy, self.run_release, self.wake)

    def run_copy(self, portion: Portion) -> Mapping[str, Integers]:
        """Copies a portion and gives, by host, the slots that have arrived."""
        assert self._session is not None
        assert self.in_force is not None
        return run_copy(self._session, str(self.checkpoint.directory), self.epoch, self.in_force.unfused, portion)

    def run_release(self, leftover: Leftover) -> Mapping[str, Integers]:
        """Has hosts give back the memory of slots that went to others, and gives, by host, those that are gone."""
        assert self._session is not None
        assert self.in_force is not None
        unfused = self.in_force.unfused
        return run_release(self._session, str(self.checkpoint.directory), self.epoch, unfused, leftover)

    def _measured(self, moments: Moments, plan: BatchPlan, result: BatchResult) -> MeasuredBatch:
        first = plan.configuration.elements[0].name
        return MeasuredBatch(
            plan.batch,
            moments,
            tuple(result.reports),
            first,
            self._sinks,
            result.taken_tuples.get(first, 0),
            sum([table.num_rows for table in result.letters]),
            sum(result.waiting_tuples) + sum([w.tuples for own in result.held.values() for w in own]),
            sum(result.resumed_tuples),
        )

    def _plan(self, frame: DataFrame, batch: int) -> BatchPlan:
        """The plan of a batch; a batch that ran before keeps its Configuration, under this driver's epoch."""
        earlier = self.checkpoint.plan(batch)
        configuration = self.configuration() if earlier is None else earlier.configuration
        target = None if earlier is None else earlier.target
        before = earlier or self.checkpoint.plan(batch - 1)
        own_cap = self.own_cap()
        if own_cap is None and earlier is not None:
            own_cap = earlier.own_cap_tuples
        draft = BatchPlan(batch, self.epoch, self._before(batch), configuration, target=target, own_cap_tuples=own_cap)
        plan = self._migrator.planned(draft, before, self._situation(frame, draft, before))
        plan = replace(plan, learned=self._learned.for_plan(plan.configuration, before.learned if before else {}))
        self.in_force, self.placer.newest = plan.configuration, plan.placements
        self.checkpoint.write_plan(plan, durable=self.fixed.durable)
        return plan

    def _situation(self, frame: DataFrame, draft: BatchPlan, before: BatchPlan | None) -> Situation:
        ledgers = self._ledgers(draft.previous)
        waiting, held = elements_with_waiting(ledgers), elements_with_held(ledgers)
        # Tuples wait for an element of the fusion there is, which stays until they are through.
        laid_out = before.configuration if before is not None and waiting else draft.configuration
        unfused = laid_out.unfused
        if unfused not in self._movables:
            self._movables[unfused] = movable_elements(self.fixed, self.layout(laid_out))
        cores, leaving = self.cores(frame)
        return Situation(
            cores, self._movables[unfused], self.migration(), frozenset(waiting), frozenset(held), frozenset(leaving),
            self.placer.loads,
        )  # fmt: skip

    def cores(self, frame: DataFrame) -> tuple[Mapping[str, int], set[str]]:
        """The cores of each host, where there are several to choose from, and the hosts that are about to go."""
        self._session = frame.sparkSession
        return self.placer.cores(frame.sparkSession)

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
        elif m.kind == message.HELD:
            result.held.setdefault(m.name, []).append(pickle.loads(payload))
        elif m.kind == message.DEFERRED:
            put_off, resumed = (int(x) for x in np.frombuffer(payload, np.int64))
            result.waiting_tuples.append(put_off)
            result.resumed_tuples.append(resumed)
        elif m.kind == message.MEASURE:
            result.reports.append((m.name, bytes(payload)))
            result.taken_tuples[m.name] = result.taken_tuples.get(m.name, 0) + m.sequence
        elif m.kind == message.LEARNED:
            result.learned.append((m.name, m.sequence, bytes(payload).decode()))

    def _publish(self, plan: BatchPlan, result: BatchResult) -> None:
        before = dict(self._ledgers(plan.previous))
        held = {name: tuple(own) for name, own in result.held.items()}
        result.entries.update(held_entries(self.checkpoint, self.fixed, plan, held))
        for name in result.entries:
            before.setdefault(name, Ledger.empty(self._slots(name, plan.configuration)))
        after = self.manifests.publish(
            plan.batch, plan.epoch, before, result.entries, previous=plan.previous, durable=self.fixed.durable
        )
        self._known = (plan.batch, after)
        self.copier.published(Published(plan.batch, after))
        if plan.previous is not None and plan.batch % _CLEAN_EVERY_BATCHES == 0:
            self._clean(plan.previous, before)

    def _newest(self) -> tuple[int, dict[str, Ledger]]:
        """The newest batch that counts and its ledgers; -1 before the first."""
        batches = self.manifests.batches()
        return (batches[-1], self.manifests.ledgers(batches[-1])) if batches else (-1, {})

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
        sweep_batches(self.fixed.graph, oldest)

    def _slots(self, operator: str, configuration: Configuration) -> int:
        pipeline = self.layout(configuration).pipeline
        if is_waiting_name(operator):
            element = next(e for e in pipeline.elements if e.name == element_of(operator))
            return 1 if is_held_name(operator) else slot_function(self.fixed, element).slots
        return 1 if operator == INTAKE else state_slots(self.fixed, pipeline, operator).slots
