"""What Spark calls in a Python worker: one element's share of one micro-batch, as the body of a `mapInArrow`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark import TaskContext

from penstock.connectors.planned.client_options import PROPERTY, take_property
from penstock.errors import StaleAttemptError
from penstock.measure.task.task_meters import TaskStart
from penstock.plan.fusion.groups import Fused
from penstock.runtime.exchange import host_exchange
from penstock.runtime.exchange.host_exchange import HostExchange
from penstock.runtime.exchange.message import Message, batch_of, messages_of
from penstock.runtime.replica.element_worker import element_worker
from penstock.runtime.replica.task import ElementTask
from penstock.runtime.sources.own_share import each_once, own_share, partitions_read
from penstock.runtime.sources.raw_rows import raw_source, source_rows_of
from penstock.spark.session.pickling import dumps


def run_element(
    directory: str, epoch: int, fused: Fused, number: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Runs a replica of an element over what Spark hands to its partition."""
    context = TaskContext.get()
    assert context is not None
    start = TaskStart()
    take_property(context.getLocalProperty(PROPERTY))
    worker = element_worker(directory, epoch, fused, number, dumps=dumps, freezes=True)
    batch = int(context.getLocalProperty("streaming.sql.batchId") or -1)
    plan = worker.checkpoint.plan(batch)
    assert plan is not None, f"batch {batch} has no plan"
    if plan.epoch != epoch:  # attempts count anew under each driver, so a late task would pass for the newest
        raise StaleAttemptError(f"a task of driver {epoch} came too late: batch {batch} is driver {plan.epoch}'s")
    folder, replica = context.getLocalProperty(host_exchange.PROPERTY), context.partitionId()
    if not number and worker.layout.pipeline.elements[0].scope == "stream":
        batches = each_once(batches)
    elif not number and raw_source(worker.fixed.graph) is None:
        replica, batches = own_share(batches, replica, folder, partitions_read(directory), batch)
    task = ElementTask(worker, plan, replica, context.taskAttemptId(), start)
    entered = task.figures.entry.inward(batches)
    messages = (
        task.run_next(host_exchange.arrived(_messages(entered), number, folder))
        if number
        else task.run_first(source_rows_of(worker.fixed.graph, entered))
    )
    if folder:
        messages = HostExchange(folder, f"{number}-{context.taskAttemptId()}").outward(messages)
    yield from task.figures.exit.outward(batch_of([m]) for m in messages)


def _messages(batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    for batch in batches:
        yield from messages_of(batch)
