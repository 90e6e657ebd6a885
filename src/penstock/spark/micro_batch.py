"""The micro-batch: planned from the Configuration in force, run by exactly one action, and published."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.control.configuration import Configuration
from penstock.element.block import Block, concat_blocks
from penstock.element.envelope import unseal
from penstock.element.position import merge_order
from penstock.element.row_checksum import add_checksums
from penstock.element.state.entries import ENTRY, Entries
from penstock.element.state.garbage import collect_garbage
from penstock.element.state.ledger import Ledger
from penstock.element.state.logs import Logs
from penstock.element.state.manifests import Manifests
from penstock.measure.batch_figures import BatchTimer, observation_of
from penstock.measure.observation import Observation
from penstock.measure.task_figures import TaskReport, decode
from penstock.spark import message
from penstock.spark.checkpoint import BatchPlan, Checkpoint, Fixed
from penstock.spark.message import Message, messages_of
from penstock.spark.staged_file import publish_file
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
    """Runs batch after batch of one query; `next_configuration` is taken over at the next one."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        fixed: Fixed,
        epoch: int,
        configuration: Callable[[], Configuration],
        deliver: Callable[[BatchPlan, BatchResult, Observation], None],
    ) -> None:
        self.checkpoint, self.fixed, self.epoch = checkpoint, fixed, epoch
        self.configuration, self.deliver = configuration, deliver
        self.manifests = Manifests(checkpoint.manifests)
        self._known: tuple[int, dict[str, Ledger]] = (-1, {})
        # one function object per element for the life of the query: Spark then pickles each once
        self._functions = [
            functools.partial(run_element, str(checkpoint.directory), i) for i in range(len(fixed.pipeline.elements))
        ]

    def run(self, frame: DataFrame, batch: int) -> None:
        """The function that `foreachBatch` calls."""
        timer = BatchTimer(batch)
        plan = self._plan(batch)
        frame = self._pipeline(frame, plan.configuration)
        timer.planned()
        result = self._collected(frame)
        timer.ran()
        self._publish(plan, result)
        for name, staged in result.files:
            publish_file(self.fixed.graph.operator(name), staged)
        timer.committed()
        letters = sum(table.num_rows for table in result.letters)
        self.deliver(plan, result, observation_of(timer, result.reports, self.fixed.graph, letters))

    def _plan(self, batch: int) -> BatchPlan:
        """The plan of a batch; a batch that ran before keeps its Configuration, under this driver's epoch."""
        earlier = self.checkpoint.plan(batch)
        published = [b for b in self.manifests.batches() if b < batch]
        configuration = self.configuration() if earlier is None else earlier.configuration
        plan = BatchPlan(batch, self.epoch, published[-1] if published else None, configuration)
        self.checkpoint.write_plan(plan)
        return plan

    def _pipeline(self, frame: DataFrame, configuration: Configuration) -> DataFrame:
        for number, element in enumerate(configuration.elements):
            if number:
                frame = frame.repartitionById(element.replicas, F.col("replica"))
            frame = frame.mapInArrow(self._functions[number], message.SQL)
        return frame

    def _collected(self, frame: DataFrame) -> BatchResult:
        result = BatchResult()
        for batch in frame.toArrow().to_batches():
            for m in messages_of(batch):
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
            result.reports.setdefault(m.name, []).append(decode(payload))

    def _publish(self, plan: BatchPlan, result: BatchResult) -> None:
        before = dict(self._ledgers(plan.previous))
        for name in result.entries:
            before.setdefault(name, Ledger.empty(self._slots(name)))
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

    def _slots(self, operator: str) -> int:
        return self.fixed.slots if self.fixed.pipeline.element_of(operator).scope == "key" else 1


def in_order(blocks: list[tuple[int, Block]]) -> Block:
    """The blocks of a sink in the total order of their tuples."""
    ordered = [block for _, block in sorted(blocks, key=lambda pair: pair[0])]
    positions = [block.position for block in ordered if block.position is not None]
    joined = concat_blocks(ordered)
    return joined.take(merge_order(positions)) if len(positions) == len(ordered) else joined
