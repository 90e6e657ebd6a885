"""Micro-batches without Spark: the same plans, tasks, logs and manifests, with tasks run one after the other."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.app.graph import Graph
from penstock.block.ordering import in_order
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.plan.configuration import Configuration
from penstock.runtime.delivery.sink_folders import claim_folders, run_of, sweep_sinks
from penstock.runtime.driver.batch_result import BatchResult
from penstock.runtime.driver.finished import is_finished, newest_batch, progress_of
from penstock.runtime.driver.first_configuration import first_configuration
from penstock.runtime.driver.recovery import SparkLog, recover
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message
from penstock.runtime.migration.copier import Copier
from penstock.runtime.replica import element_worker as workers
from penstock.runtime.replica.task import ElementTask
from penstock.runtime.slots.state_slots import check_fits
from penstock.runtime.sources.offset_reader import Cuts
from penstock.spark.driver.micro_batch import MicroBatches
from penstock.spark.session.pickling import dumps, dumps_for_workers
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.lease import Lease
from penstock.state.memory.host_directory import HostState

SLOTS, REPLICAS, BLOCK_ROWS, BATCH_TUPLES = 8, 2, 16, 40
Batches = dict[int, dict[str, list[dict[str, Any]]]]


def run_batches(graph: Graph, folder: Path, last: int | None = None) -> Batches:
    """Starts an application as `ps.start` does, up to opening Spark, and runs its batches; the results by batch.

    A checkpoint goes on after the newest batch that Spark has committed.  `last`: the batch after which it is left as a
    driver that was killed leaves it; None: to the end.
    """
    directory = Checkpoint(folder)
    if is_finished(graph, directory):
        return {}
    lease = Lease(str(directory.directory), directory.highest_epoch)
    fixed = None
    try:
        directory.sweep()
        recover(directory)
        fixed = directory.fix(graph, slots=SLOTS, now_s=0.0, dumps=dumps_for_workers)
        before = directory.newest_configuration()
        if before is not None:
            check_fits(fixed, before)
        claim_folders(fixed.graph, None, run_of(directory, fixed.checkpoint_id, is_new=before is None))
        sweep_sinks(fixed.graph, directory, lease.epoch)
        batches = _Batches(directory, fixed, lease.epoch, before or first_configuration(fixed, REPLICAS, BLOCK_ROWS))
        return batches.run_to(last)
    finally:
        lease.release()
        if fixed is not None:
            _forget_workers(fixed.checkpoint_id)


class _Batches(MicroBatches):
    """Batches of a fixed size; Spark's logs of offsets and commits are written and read as Spark does it."""

    def __init__(self, checkpoint: Checkpoint, fixed: Any, epoch: int, configuration: Configuration) -> None:
        super().__init__(checkpoint, fixed, epoch, lambda: configuration, self._keep)
        self._cuts, self._attempts = Cuts(fixed.graph), itertools.count(1)
        self._progress = progress_of(checkpoint, fixed.graph, newest_batch(checkpoint))
        self._offsets, self._commits = SparkLog(checkpoint, "offsets"), SparkLog(checkpoint, "commits")
        for log in (self._offsets, self._commits):
            log.path(0).parent.mkdir(parents=True, exist_ok=True)
        self._start: dict[str, int] = {}
        self._end: dict[str, int] = {}
        self.results: Batches = {}

    def run_to(self, last: int | None) -> Batches:
        newest = max(self._offsets.batches(), default=-1)
        is_again = newest >= 0 and newest not in self._commits.batches()  # its offsets are logged: it runs with them
        self._end = self._ends(newest - 1 if is_again else newest)
        for batch in itertools.count(newest if is_again else newest + 1):
            self._start = self._end
            if batch == newest:
                self._end = self._ends(batch)
            else:
                self._end = self._cuts.ends(self._start, 0.0, BATCH_TUPLES * len(self._start))
                if self._end == self._start:
                    break
                body = json.dumps(self._end | {"#beat": 0})
                self._offsets.path(batch).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{body}')
            self.run(None, batch)  # type: ignore[arg-type]
            if batch == last:
                break
            self._commits.path(batch).write_text('v1\n{"nextBatchWatermarkMs":0}')
        return self.results

    def _ends(self, batch: int) -> dict[str, int]:
        """Where a batch ends in each source, by the log of offsets."""
        if batch < 0:
            return dict.fromkeys(self._cuts.sources, 0)
        body = json.loads(self._offsets.path(batch).read_text().split("\n")[2])
        return {name: body[name] for name in self._cuts.sources}

    def cores(self, frame: object) -> tuple[Mapping[str, int], set[str]]:
        return {}, set()

    def make_copier(self) -> Copier:
        return Copier(self.run_copy, self.run_release)

    def run_tasks(self, frame: object, plan: BatchPlan) -> Iterator[Message]:
        messages: list[Message] = []
        for number, element in enumerate(self.layout(plan.configuration).pipeline.elements):
            replicas = plan.configuration.element(element.name).replicas
            shares: list[list[Any]] = [[] for _ in range(replicas)]
            given: list[Any] = messages if number else self._rows(plan.configuration.block_rows)
            for place, row in enumerate(given):
                shares[(row.replica if number else place) % replicas].append(row)
            messages = [m for replica in range(replicas) for m in self._task(plan, number, replica, shares[replica])]
        yield from messages

    def _task(self, plan: BatchPlan, number: int, replica: int, share: list[Any]) -> list[Message]:
        directory = str(self.checkpoint.directory)
        worker = workers.element_worker(directory, plan.epoch, plan.configuration.fused, number, dumps=dumps)
        task = ElementTask(worker, plan, replica, next(self._attempts))
        return list(task.run_next(iter(share)) if number else task.run_first(iter(share)))

    def _rows(self, block_rows: int) -> list[dict[str, Any]]:
        frontier = self._cuts.frontier(self._end)
        sealed = None if frontier is None else message.pack_frontier(frontier)
        return [
            {"source": name, "start": start, "stop": min(start + block_rows, end), "payload": None, "frontier": sealed}
            for name, end in self._end.items()
            for start in range(self._start[name], end, block_rows)
        ]

    def _keep(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        self._progress.add(plan.batch, measured.tuples_in)
        rows = {}
        for name, blocks in result.blocks.items():
            ordered = in_order([block for _, block in sorted(blocks, key=lambda pair: pair[0])]).to_arrow()
            rows[name] = pa.Table.from_batches([ordered]).to_pylist()
        self.results[plan.batch] = rows


def _forget_workers(checkpoint_id: str) -> None:
    """The worker processes and what they hold in memory are gone: the next start rebuilds it from the logs."""
    for name in [name for name in workers._workers if name[0] == checkpoint_id]:
        workers._workers.pop(name).end_threads()
    HostState(checkpoint_id).end()


def copied(checkpoint: Path, folder: Path) -> Path:
    """A checkpoint with its sinks' files, elsewhere."""
    return Path(shutil.copytree(checkpoint, folder))
