"""Something done once on each of some hosts, as a Spark job beside the jobs of micro-batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from penstock.runtime.replica import message
from penstock.runtime.replica.message import Message, batch_of, messages_of
from penstock.spark.executors.map_stage import MapStage
from penstock.spark.executors.pinning import on_hosts


def on_each_host(session: SparkSession, hosts: Sequence[str], function: Callable[[int], bytes]) -> dict[str, bytes]:
    """What `function(i)` gives on `hosts[i]`, by host; each takes a task slot there for as long as it works."""
    session.sparkContext.setLocalProperty("spark.job.description", "penstock: slots on their way")
    frame = MapStage(functools.partial(_done, function), message.SQL).after(on_hosts(session, hosts))
    found = [m for batch in frame.toArrow().to_batches() for m in messages_of(batch)]
    return {hosts[m.replica]: bytes(memoryview(m.payload)) for m in found}


def _done(function: Callable[[int], bytes], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What Spark calls on a host."""
    context = TaskContext.get()
    assert context is not None
    own = context.partitionId()
    for _ in batches:  # a worker that leaves input unread is not used again, and the next one is cold
        pass
    yield batch_of([Message(own, message.RESULT, message.DONE, "", 0, function(own))])
