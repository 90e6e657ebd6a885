"""The micro-batch: planned from the Configuration in force, run by exactly one action, and published."""

from __future__ import annotations

import functools
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.host.atomic_file import Fence, no_fence, sync
from penstock.measure.batch.batch_figures import Moments
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.plan.configuration import Configuration
from penstock.plan.elements.layout import Layout, layout_of
from penstock.plan.elements.pipeline import INTAKE
from penstock.plan.fusion.groups import Fused
from penstock.plan.placement.requested_hosts import requested_hosts
from penstock.runtime.delivery.sink_folders import sweep_batches
from penstock.runtime.driver.batch_result import BatchResult
from penstock.runtime.driver.result_share import ResultShare
from penstock.runtime.driver.rolled_back import again_if_rolled_back
from penstock.runtime.driver.source_arrivals import IdleAlarm, SourceArrivals
from penstock.runtime.driver.thread_memory import ThreadMemory
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message, messages_of
from penstock.runtime.migration.copier import BackgroundCopier, Copier
from penstock.runtime.migration.copies import Movable, Portion, Published
from penstock.runtime.migration.held_tuples import held_entries
from penstock.runtime.migration.migration import PRE_COPY, Migrator, Situation, movable_elements
from penstock.runtime.migration.stale_copies import Leftover
from penstock.runtime.migration.waiting_tuples import (
    element_of,
    elements_with_held,
    elements_with_waiting,
    is_held_name,
    is_waiting_name,
)
from penstock.runtime.replica.result_spool import forget, sweep
from penstock.runtime.slots.state_forms import slot_function, state_form
from penstock.spark.driver.shuffle_cleaner import clean_shuffles
from penstock.spark.executors.copy_job import run_copy, run_release
from penstock.spark.executors.exchange_folder import exchange_folder
from penstock.spark.executors.map_stage import MapStage
from penstock.spark.executors.placer import Placer, placed
from penstock.spark.executors.worker import run_element
from penstock.spark.session.offset_log import sync_spark_log
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed
from penstock.state.checkpoint.entries import Entries
from penstock.state.checkpoint.garbage import collect_garbage
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.manifests import Manifests, Parts
from penstock.state.extents import Integers

_log = logging.getLogger(__name__)
_CLEAN_EVERY_BATCHES = 16
_LEAST_S = 1e-6  # between the times at which two batches are planned


class MicroBatches:
    """Runs batch after batch of one query; `configuration` gives the one wanted of the next, `migration` the way to it.

    `accept` raises where a batch must not count; `stage` adds to the parts what the driver stages, before the batch
    counts; `deliver` takes the results of one that does.  `finish` delivers the parts of a batch that counted before
    this driver started: it is not computed again.  `wake` has a batch run
    although no tuples came.  `own_cap`: of micro-batches without control, None where nobody controls.  `result_share`:
    what a task may send to the driver, None for all.  `clock` gives the time at which batches are planned,
    `idle_clock` seconds that never go back.  The `fence` raises where another driver has taken over.  `ends` says
    whether windows fire what they hold in a batch, since all sources have ended before it.
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
        result_share: ResultShare | None = None,
        clock: Callable[[], float] = time.time,
        idle_clock: Callable[[], float] = time.monotonic,
        fence: Fence = no_fence,
        ends: Callable[[int], bool] = lambda batch: False,
        stage: Callable[[BatchPlan, BatchResult], None] | None = None,
        finish: Callable[[int, Parts, BatchPlan | None], None] = lambda batch, parts, plan: None,
    ) -> None:
        self.checkpoint, self.fixed, self.epoch, self.fence = checkpoint, fixed, epoch, fence
        self.configuration, self.deliver, self.accept = configuration, deliver, accept
        self._is_staged, self.stage, self.finish = stage is not None, stage or _stage_nothing, finish
        self._sinks = frozenset(sink.name for sink in fixed.graph.sinks)
        self.manifests = Manifests(checkpoint.manifests)
        self.migration, self.wake, self.own_cap, self.clock = migration, wake, own_cap, clock
        self.placer, self._learned, self._result_share, self.ends = Placer(), ThreadMemory(), result_share, ends
        self._arrivals, self._alarm = SourceArrivals(fixed.graph, idle_clock), IdleAlarm(self.wake)
        self._session: SparkSession | None = None
        self.in_force: Configuration | None = None  # of the newest batch
        self.copier = self.make_copier()
        self._migrator = Migrator(self.copier)
        self._known: tuple[int, dict[str, Ledger]] = self._newest()
        self._with_synced_folder: set[str] = set()
        self._layouts: dict[Fused, Layout] = {}
        self._movables: dict[Fused, dict[str, Movable]] = {}
        self._stages: dict[tuple[Fused, int], MapStage] = {}
        self._warned: set[str] = set()
        self._cleans_shuffles = False

    def run(self, frame: DataFrame, batch: int) -> None:
        """The function that `foreachBatch` calls."""
        began_s = time.time()
        if self.fixed.durable:
            sync_spark_log(self.checkpoint.spark, batch)
        parts = self._known_parts(batch)
        if parts is not None:
            self._finish_again(batch, parts)
            return
        plan = self._plan(frame, batch)
        planned_s = time.time()
        result = again_if_rolled_back(lambda: self._gathered_within(frame, plan))
        ran_s = time.time()
        self.accept(result)
        self._arrivals.check(result.arrived)
        self.stage(plan, result)
        self._publish(plan, result)
        moments = Moments(began_s, planned_s, ran_s, time.time())
        self._learned.take(result.learned)
        self._warn(result.warnings)
        self._arrivals.note(result.arrived)
        self.deliver(plan, result, self._measured(moments, plan, result))
        forget(self.checkpoint.results, result.spooled)
        self._alarm.set(self._arrivals.idle_in_s(plan.idle))
        if self.has_waiting:
            self.wake()

    def _known_parts(self, batch: int) -> Parts | None:
        """The parts of a batch that counts already; None for one that does not, or whose parts nobody staged."""
        if not self._is_staged or batch > self._known[0] or batch not in self.manifests.batches():
            return None
        return self.manifests.read(batch).parts

    def _finish_again(self, batch: int, parts: Parts) -> None:
        """Delivers a batch that counted before, without computing it."""
        plan = self.checkpoint.plan(batch)
        if plan is not None:
            self.in_force, self.placer.newest = plan.configuration, plan.placements
        _log.info("micro-batch %d counted before this start; its staged results are delivered", batch)
        self.finish(batch, parts, plan)
        if self.has_waiting:
            self.wake()

    def stop(self) -> None:
        """Ends what goes on beside the batches."""
        self._alarm.set(None)
        self.copier.stop()

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
        return run_copy(self._session, str(self.checkpoint.directory), self.epoch, self.in_force.fused, portion)

    def run_release(self, leftover: Leftover) -> Mapping[str, Integers]:
        """Has hosts give back the memory of slots that went to others, and gives, by host, those that are gone."""
        assert self._session is not None
        assert self.in_force is not None
        fused = self.in_force.fused
        return run_release(self._session, str(self.checkpoint.directory), self.epoch, fused, leftover)

    def _warn(self, texts: set[str]) -> None:
        for text in sorted(texts - self._warned):
            _log.warning("%s", text)
        self._warned |= texts

    def _measured(self, moments: Moments, plan: BatchPlan, result: BatchResult) -> MeasuredBatch:
        first = plan.configuration.elements[0].name
        return MeasuredBatch(
            plan.batch,
            moments,
            tuple(result.reports),
            first,
            self._sinks,
            sum(result.read_tuples),
            sum([table.num_rows for table in result.letters]),
            sum(result.waiting_tuples) + sum([w.tuples for own in result.held.values() for w in own]),
            sum(result.resumed_tuples),
            self._arrivals.watermark_s(plan.idle),
        )

    def _plan(self, frame: DataFrame, batch: int) -> BatchPlan:
        """The plan of a batch; a batch that ran before keeps its Configuration, under this driver's epoch."""
        earlier = self.checkpoint.plan(batch)
        configuration = self.configuration() if earlier is None else earlier.configuration
        target = None if earlier is None else earlier.target
        before = earlier or self.checkpoint.plan(batch - 1) or self.checkpoint.newest_plan()  # a torn one is gone
        own_cap = self.own_cap()
        if own_cap is None and earlier is not None:
            own_cap = earlier.own_cap_tuples
        draft = BatchPlan(
            batch, self.epoch, self._before(batch), configuration, target=target, own_cap_tuples=own_cap,
            planned_s=_planned_s(self.clock(), earlier, before),
            idle=self._arrivals.idle() if earlier is None else earlier.idle,
            partitions=self._arrivals.partitions(before) if earlier is None else earlier.partitions,
            ends=self.ends(batch) if earlier is None else earlier.ends,
        )  # fmt: skip
        plan = self._migrator.planned(draft, before, self._situation(frame, draft, before))
        plan = replace(plan, learned=self._learned.for_plan(plan.configuration, before.learned if before else {}))
        if self._result_share is not None:
            plan = replace(plan, task_result_bytes=self._result_share.task_bytes(plan.configuration))
        self.in_force, self.placer.newest = plan.configuration, plan.placements
        self.checkpoint.write_plan(plan, durable=self.fixed.durable, fence=self.fence)
        return plan

    def _situation(self, frame: DataFrame, draft: BatchPlan, before: BatchPlan | None) -> Situation:
        ledgers = self._ledgers(draft.previous)
        waiting, held = elements_with_waiting(ledgers), elements_with_held(ledgers)
        # Tuples wait for an element of the fusion there is, which stays until they are through.
        laid_out = before.configuration if before is not None and waiting else draft.configuration
        fused = laid_out.fused
        if fused not in self._movables:
            self._movables[fused] = movable_elements(self.fixed, self.layout(laid_out))
        cores, leaving = self.cores(frame)
        return Situation(
            cores, self._movables[fused], self.migration(), frozenset(waiting), frozenset(held), frozenset(leaving),
            self.placer.loads, self._requested_hosts(frame, laid_out), self.placer.paces.in_force,
        )  # fmt: skip

    def _requested_hosts(self, frame: DataFrame, configuration: Configuration) -> Mapping[str, str]:
        """Where elements are to be that somebody asked a host for; those that are not there are warned of, once."""
        if not any(request.host for request in self.fixed.graph.requests):
            return {}
        pipeline = self.layout(configuration).pipeline
        found = requested_hosts(self.fixed.graph, pipeline, self.placer.hosts(frame.sparkSession))
        self._warn(set(found.warnings))
        return found.by_element

    def cores(self, frame: DataFrame) -> tuple[Mapping[str, int], set[str]]:
        """The cores of each host, where there are several to choose from, and the hosts that are about to go."""
        self._session = frame.sparkSession
        return self.placer.cores(frame.sparkSession)

    def layout(self, configuration: Configuration) -> Layout:
        """How the graph is laid out by a Configuration."""
        if configuration.fused not in self._layouts:
            self._layouts[configuration.fused] = layout_of(self.fixed.graph, configuration.fused)
        return self._layouts[configuration.fused]

    def _before(self, batch: int) -> int | None:
        """The newest batch before this one whose state counts; mostly the one published last."""
        if batch and self._known[0] == batch - 1:
            return batch - 1
        return max((b for b in self.manifests.batches() if b < batch), default=None)

    def _pipeline(self, frame: DataFrame, plan: BatchPlan) -> DataFrame:
        configuration = plan.configuration
        if self.layout(configuration).pipeline.elements[0].scope == "stream":
            frame = frame.coalesce(1)  # one task reads all sources, as operators that need the whole stream are with it
        for number, element in enumerate(configuration.elements):
            if number:
                frame = frame.repartitionById(element.replicas, F.col("replica"))
                frame = placed(frame, plan.placements.get(element.name))
            frame = self._stage(configuration.fused, number).after(frame)
        return frame

    def _stage(self, fused: Fused, number: int) -> MapStage:
        key = (fused, number)
        if key not in self._stages:
            directory = str(self.checkpoint.directory)
            function = functools.partial(run_element, directory, self.epoch, fused, number)
            self._stages[key] = MapStage(function, message.SQL)
        return self._stages[key]

    def run_tasks(self, frame: DataFrame, plan: BatchPlan) -> Iterable[Message]:
        """The one action of a batch: what its tasks have to say."""
        if not self._cleans_shuffles:
            self._cleans_shuffles = True
            clean_shuffles(frame.sparkSession)
        with exchange_folder(frame.sparkSession, f"{self.fixed.checkpoint_id}-{plan.batch}"):
            found = self._pipeline(frame, plan).toArrow()
        for batch in found.to_batches():
            yield from messages_of(batch)

    def _gathered_within(self, frame: DataFrame, plan: BatchPlan) -> BatchResult:
        """What tasks have to say; if that is more than Spark brings to the driver, all of it through files."""
        share = self._result_share
        try:
            result = self._gathered(frame, plan)
        except Exception as error:
            if share is None or not share.is_exceeded(error) or not plan.task_result_bytes:
                raise
            share.lower()
            plan = replace(plan, task_result_bytes=0)
            self.checkpoint.write_plan(plan, durable=self.fixed.durable)
            result = self._gathered(frame, plan)
        if share is not None:
            share.note(len(result.reports))
        return result

    def _gathered(self, frame: DataFrame, plan: BatchPlan) -> BatchResult:
        result = BatchResult()
        for m in self.run_tasks(frame, plan):
            result.add(m, self.fixed.graph, self.checkpoint.results)
        return result

    def _publish(self, plan: BatchPlan, result: BatchResult) -> None:
        before = dict(self._ledgers(plan.previous))
        held = {name: tuple(own) for name, own in result.held.items()}
        result.entries.update(held_entries(self.checkpoint, self.fixed, plan, held))
        if self.fixed.durable:
            self._sync_log_folders(result.entries)
        for name in result.entries:
            before.setdefault(name, Ledger.empty(self._slots(name, plan.configuration)))
        after = self.manifests.publish(
            plan.batch, plan.epoch, before, result.entries, previous=plan.previous, durable=self.fixed.durable,
            fence=self.fence, parts=result.parts if self._is_staged else None,
        )  # fmt: skip
        self._known = (plan.batch, after)
        self.copier.published(Published(plan.batch, after))
        if plan.previous is not None and plan.batch % _CLEAN_EVERY_BATCHES == 0:
            self._clean(plan.previous, before)

    def _sync_log_folders(self, entries: Mapping[str, Entries]) -> None:
        """Has the folders that tasks have made for logs survive before a manifest counts on them; once each."""
        new = {name for name, own in entries.items() if len(own)} - self._with_synced_folder
        for folder in {os.path.dirname(self.checkpoint.logs(name)) for name in new}:
            sync(folder)
            sync(str(self.checkpoint.directory))
        self._with_synced_folder |= new

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
        self.fence()
        logs = {name: Logs(self.checkpoint.logs(name), self.fixed.durable) for name in ledgers}
        collect_garbage(self.manifests, logs, ledgers, oldest)
        self.checkpoint.forget_plans(oldest)
        sweep_batches(self.fixed.graph, self.checkpoint, oldest)
        sweep(self.checkpoint.results, oldest)

    def _slots(self, operator: str, configuration: Configuration) -> int:
        layout = self.layout(configuration)
        if is_waiting_name(operator):
            element = next(e for e in layout.pipeline.elements if e.name == element_of(operator))
            return 1 if is_held_name(operator) else slot_function(self.fixed, element).slots
        return 1 if operator == INTAKE else state_form(self.fixed, layout, operator).slots.slots


def _stage_nothing(plan: BatchPlan, result: BatchResult) -> None:
    """For engines that deliver nothing."""


def _planned_s(now_s: float, earlier: BatchPlan | None, before: BatchPlan | None) -> float:
    """When a batch was planned first, later than the batch before it even where the clock was set back."""
    if earlier is not None:
        return earlier.planned_s
    return now_s if before is None else max(now_s, before.planned_s + _LEAST_S)
