"""What Spark calls in a Python worker: one element's share of one micro-batch, as the body of a `mapInArrow`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
from pyspark import TaskContext

from penstock.errors import StaleAttemptError
from penstock.measure.task.task_meters import TaskStart
from penstock.runtime.replica.element_worker import element_worker
from penstock.runtime.replica.message import Message, batch_of, messages_of
from penstock.runtime.replica.task import ElementTask
from penstock.spark.session.pickling import dumps


def run_element(
    directory: str, epoch: int, unfused: tuple[str, ...], number: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Runs a replica of an element over what Spark hands to its partition."""
    context = TaskContext.get()
    assert context is not None
    start = TaskStart()
    worker = element_worker(directory, epoch, unfused, number, dumps=dumps, freezes=True)
    batch = int(context.getLocalProperty("streaming.sql.batchId") or -1)
    plan = worker.checkpoint.plan(batch)
    assert plan is not None, f"batch {batch} has no plan"
    if plan.epoch != epoch:  # attempts count anew under each driver, so a late task would pass for the newest
        raise StaleAttemptError(f"a task of driver {epoch} came too late: batch {batch} is driver {plan.epoch}'s")
    task = ElementTask(worker, plan, context.partitionId(), context.taskAttemptId(), start)
    entered = task.figures.entry.inward(batches)
    messages = task.run_next(_messages(entered)) if number else task.run_first(_rows(entered))
    yield from task.figures.exit.outward(batch_of([m]) for m in messages)


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Mapping[str, object]]:
    for batch in batches:
        yield from batch.to_pylist()


def _messages(batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    for batch in batches:
        yield from messages_of(batch)
