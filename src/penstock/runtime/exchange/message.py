"""The rows that go from task to task and back to the driver: a small header and a payload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.block.position import Frontier

SCHEMA = pa.schema(
    [
        ("replica", pa.int32()),  # the partition the row goes to in front of the next element
        ("element", pa.int32()),  # the element it is for; RESULT for the driver
        ("kind", pa.string()),
        ("name", pa.string()),  # stream, sink, operator
        ("sequence", pa.int64()),
        ("payload", pa.binary()),
    ]
)
SQL = "replica int, element int, kind string, name string, sequence long, payload binary"
RESULT = -1
_FRONTIER = np.dtype([("stamp", np.float64), ("place", np.int64), ("sequence", np.int64)])
BLOCK, FRONTIER, ENDED = "block", "frontier", "ended"  # to elements
ROW = "row"  # of a source, to the element that reads it
TICKS, PARTIALS, SHARE = "ticks", "partials", "share"  # to elements that go by event time
CLOCK = "clock"  # ticks of sources, to elements that go by watermarks
SINK, STATE, LETTERS, MEASURE, PART = "sink", "state", "letters", "measure", "part"  # results
# Results too: what a splitter holds, how many tuples a replica puts off, what was done on a host, what a replica (the
# sequence) has found about its threads.  The sequence of a measure is the number of tuples that its task read itself.
HELD, DEFERRED, DONE, LEARNED = "held", "deferred", "done", "learned"
SPOOLED = "spooled"  # the name of a file of the checkpoint that has the rest of a task's results
ARRIVED = "arrived"  # a result: tuples and event times by partition of a source
WARNING = "warning"  # for the user, about a host; once is enough


@dataclass(frozen=True, slots=True)
class Message:
    """One row."""

    replica: int
    element: int
    kind: str
    name: str
    sequence: int
    payload: pa.Buffer | bytes


def batch_of(messages: list[Message]) -> pa.RecordBatch:
    columns = (
        pa.array([m.replica for m in messages], pa.int32()),
        pa.array([m.element for m in messages], pa.int32()),
        pa.array([m.kind for m in messages], pa.string()),
        pa.array([m.name for m in messages], pa.string()),
        pa.array([m.sequence for m in messages], pa.int64()),
        _payloads([m.payload for m in messages]),
    )
    return pa.RecordBatch.from_arrays(list(columns), schema=SCHEMA)


def _payloads(payloads: list[pa.Buffer | bytes]) -> pa.Array:
    """One payload needs no copy: it is the array's memory itself."""
    if len(payloads) == 1:
        data = payloads[0] if isinstance(payloads[0], pa.Buffer) else pa.py_buffer(payloads[0])
        offsets = pa.array([0, data.size], pa.int32()).buffers()[1]
        return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, data])
    return pa.array([p.to_pybytes() if isinstance(p, pa.Buffer) else p for p in payloads], pa.binary())


def messages_of(batch: pa.RecordBatch) -> list[Message]:
    """The rows of a batch; payloads are views of its memory."""
    heads = zip(*(batch.column(i).to_pylist() for i in range(5)), strict=True)
    payloads = batch.column(5)
    return [
        Message(replica, element, kind, name, sequence, payloads[i].as_buffer())
        for i, (replica, element, kind, name, sequence) in enumerate(heads)
    ]


def pack_frontier(frontier: Frontier) -> bytes:
    return np.array([(frontier.stamp, frontier.place, frontier.sequence)], _FRONTIER).tobytes()


def unpack_frontier(packed: bytes | pa.Buffer) -> Frontier:
    stamp, place, sequence = np.frombuffer(packed, _FRONTIER)[0].item()
    return Frontier(stamp, place, sequence)
