"""A portion of a copy as a Spark job, with one task on each host that slots go to; and what gives memory back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from penstock.host.low_priority import LEAST_PRIORITY, at_priority
from penstock.plan.fusion.groups import Fused
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message, batch_of, messages_of
from penstock.runtime.migration.copies import Portion
from penstock.runtime.migration.stale_copies import Leftover
from penstock.runtime.replica.element_worker import element_worker
from penstock.spark.executors.map_stage import MapStage
from penstock.spark.executors.pinning import cores_by_host, on_hosts
from penstock.spark.session.pickling import dumps
from penstock.state.extents import Integers

Where = tuple[str, int, Fused, int]  # checkpoint, epoch, fusion, number of the element


def run_copy(session: SparkSession, directory: str, epoch: int, fused: Fused, portion: Portion) -> dict[str, Integers]:
    """Runs a portion and gives, by host, the slots that have arrived."""
    place = directory, epoch, fused, portion.element.number
    function = functools.partial(_given_way, place, portion.batch, portion.niceness)
    return _on_living_hosts(session, portion.slots_by_host, function)


def run_release(
    session: SparkSession, directory: str, epoch: int, fused: Fused, leftover: Leftover
) -> dict[str, Integers]:
    """Has hosts give back the memory of slots, and gives, by host, those that are gone there."""
    place = directory, epoch, fused, leftover.element.number
    function = functools.partial(_released, place, leftover.batch)
    return _on_living_hosts(session, leftover.slots_by_host, function)


def _on_living_hosts(
    session: SparkSession,
    slots_by_host: Mapping[str, Integers],
    function: Callable[[Sequence[Sequence[int]], int], bytes],
) -> dict[str, Integers]:
    """What `function` gives for the slots of each host that has executors: another's would be done on one of these."""
    living = cores_by_host(session)
    by_host = {host: own.tolist() for host, own in slots_by_host.items() if host in living}
    if not by_host:
        return {}
    done = on_each_host(session, list(by_host), functools.partial(function, list(by_host.values())))
    return {host: np.frombuffer(own, np.int64) for host, own in done.items()}


def _released(place: Where, batch: int, slots: Sequence[Sequence[int]], host: int) -> bytes:
    worker = element_worker(*place, dumps=dumps, freezes=True)
    own = np.array(slots[host], np.int64)
    return at_priority(lambda: worker.release(own, batch, place[1]), LEAST_PRIORITY).astype(np.int64).tobytes()


def _given_way(
    place: Where,
    batch: int,
    niceness: int,
    slots: Sequence[Sequence[int]],
    host: int,
) -> bytes:
    """Copies on a host, behind the tasks of micro-batches there; gives the slots that are there now."""
    return at_priority(lambda: _copied(place, batch, slots[host]), niceness)


def _copied(place: Where, batch: int, slots: Sequence[int]) -> bytes:
    worker = element_worker(*place, dumps=dumps, freezes=True)
    return worker.copy(np.array(slots, np.int64), batch, place[1]).astype(np.int64).tobytes()


def on_each_host(session: SparkSession, hosts: Sequence[str], function: Callable[[int], bytes]) -> dict[str, bytes]:
    """What `function(i)` gives on `hosts[i]`, by host; each takes a task slot there for as long as it works."""
    session.sparkContext.setLocalProperty("spark.job.description", "penstock: slots on their way")
    frame = MapStage(functools.partial(_on_host, function), message.SQL).after(on_hosts(session, hosts))
    found = [m for batch in frame.toArrow().to_batches() for m in messages_of(batch)]
    return {hosts[m.replica]: bytes(memoryview(m.payload)) for m in found}


def _on_host(function: Callable[[int], bytes], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What Spark calls on a host."""
    context = TaskContext.get()
    assert context is not None
    own = context.partitionId()
    for _ in batches:  # a worker that leaves input unread is not used again, and the next one is cold
        pass
    yield batch_of([Message(own, message.RESULT, message.DONE, "", 0, function(own))])
