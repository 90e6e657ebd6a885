"""The state of a simulation: flat arrays of records, all that the event loop reads and writes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# A block on its way: waiting, in service, blocked, or between operators.  Where `whole` is another one, it is a part.
# Two cache lines, so that the place of one is found by a shift.
TASK = np.dtype(
    [
        ("birth_s", "f8"), ("arrived_s", "f8"), ("due_s", "f8"), ("work_s", "f8"), ("tuples", "f8"), ("number", "i8"),
        ("op", "i4"), ("station", "i4"), ("queue", "i4"), ("whole", "i4"), ("unstarted", "i4"), ("left", "i4"),
        ("next", "i4"), ("before", "i4"), ("consumer", "i4"), ("core", "i4"), ("node", "i4"), ("part", "i4"),
        ("began", "i4"), ("merged", "i4"), ("parked", "i4"), ("granted", "i4"), ("unused", "i8", 2),
    ],
    align=True,
)  # fmt: skip
CORE = np.dtype(
    [("since_s", "f8"), ("speed", "f8"), ("task", "i4"), ("lane", "i4"), ("node", "i4"), ("next", "i4"),
     ("part", "i4"), ("merging", "i4")],
    align=True,
)  # fmt: skip
OPERATOR = np.dtype(
    [
        ("merge_s", "f8"), ("selectivity", "f8"), ("service", "f8"), ("bytes_per_tuple", "f8"), ("random", "u8"),
        ("random_selectivity", "u8"), ("random_replica", "u8"), ("rank", "f8"),
        ("tuples_in", "f8"), ("tuples_out", "f8"), ("area", "f8"), ("wait_s", "f8"), ("wait_area", "f8"),
        ("service_s", "f8"), ("blocks", "i8"), ("started", "i8"),
        ("kind", "i4"), ("given", "i4"), ("given_count", "i4"), ("drawn", "i4"), ("partitions", "i4"),
        ("replicas", "i4"), ("station", "i4"), ("cls", "i4"), ("serial", "i4"), ("drops", "i4"), ("consumers", "i4"),
        ("first_consumer", "i4"), ("parked", "i4"), ("placed", "i4"), ("transit", "i4"), ("transit_last", "i4"),
    ],
    align=True,
)  # fmt: skip
STATION = np.dtype(
    [("op", "i4"), ("queue", "i4"), ("queues", "i4"), ("limit", "i4"), ("taken", "i4"),
     ("in_service", "i4"), ("blocked", "i4"), ("blocked_last", "i4"), ("dropped", "i8")],
    align=True,
)  # fmt: skip
QUEUE = np.dtype(
    [("key", "f8"), ("rank", "f8"), ("first", "i4"), ("last", "i4"), ("place", "i4"), ("pool", "i4"),
     ("station", "i4"), ("op", "i4")],
    align=True,
)  # fmt: skip
POOL = np.dtype([("begin", "i4"), ("size", "i4"), ("lane", "i4"), ("lanes", "i4"), ("node", "i4")], align=True)
LANE = np.dtype([("factor", "f8"), ("idle", "i4"), ("core", "i4"), ("cores", "i4"), ("pool", "i4"), ("pools", "i4")],
                align=True)  # fmt: skip
SOURCE = np.dtype(
    [("rate", "f8"), ("tuples", "f8"), ("mass", "f8"), ("bytes_per_tuple", "f8"), ("random", "u8"), ("kind", "i4"),
     ("given", "i4"), ("given_count", "i4"), ("drawn", "i4"), ("consumers", "i4"), ("first_consumer", "i4"),
     ("waiting", "i4"), ("backlog", "i4"), ("backlog_last", "i4"), ("blocks", "i8")],
    align=True,
)  # fmt: skip
EVENT = np.dtype([("time_s", "f8"), ("slot", "i8")], align=True)
CHANGE = np.dtype([("time_s", "f8"), ("factor", "f8"), ("lane", "i4"), ("restart", "i4")], align=True)
LOG = np.dtype([("time_s", "f8"), ("block", "i8"), ("op", "i4"), ("partition", "i4"), ("node", "i4")], align=True)

# Locks: how long a block holds which (s of a core of speed 1), those of each operator, how far each core is with them
# and which core waits behind it, who has a lock, and the first and last core that wait for it.
HOLD = np.dtype([("seconds", "f8"), ("lock", "i8")], align=True)
HOLDS = np.dtype([("first", "i4"), ("count", "i4")], align=True)
HOLDING = np.dtype([("held", "i4"), ("behind", "i4")], align=True)
LOCK = np.dtype([("holder", "i4"), ("first", "i4"), ("last", "i4")], align=True)

AHEAD = 8  # exponential draws of a stream that are made at once: a cache line
# Kinds of draws.
CONSTANT, EXPONENTIAL, GIVEN, TRACE_EVEN, TRACE_RANDOM = 0, 1, 2, 3, 4

# Places of `control`, after those of the heap of events.
FREE, FREE_COUNT, NUMBER, EVENTS, LOGGED, NEXT_CHANGE, TODO, RECORD, RESERVE, ZERO = 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
LOCKED = 12  # whether any operator has locks
CONTROLS = 13
# Places of `clock`.
NOW, WARM, SOURCE_AREA, LATENCY, RESULTS, RESULT_BLOCKS, NET_LATENCY, NET_S_PER_BYTE, FIFO = 0, 1, 2, 3, 4, 5, 6, 7, 8
CLOCKS = 10

# What ended `advance`.
REACHED, TASKS_FULL, LOG_FULL = 0, 1, 2

# Latencies are counted in buckets of 1/256 of a power of two, from 2 ** -30 s to 2 ** 34 s.
LEAST_EXPONENT, BUCKETS = -30, 64 * 256


class State(NamedTuple):
    """All arrays of one simulation."""

    tasks: Any
    cores: Any
    ops: Any
    stations: Any
    queues: Any
    pools: Any
    lanes: Any
    sources: Any
    events: Any
    order: Any  # queues of each pool, as heaps
    control: Any
    clock: Any
    speeds: Any  # [class, lane]: of a core, with what other programs take
    lane_order: Any  # [class, place]: lanes of each pool, the fastest first
    lane_pools: Any
    serves: Any  # [lane, pool]
    consumers: Any
    shares: Any  # of each station: of its operator's replicas up to it
    given: Any
    edges_s: Any
    counts: Any
    changes: Any
    histogram: Any
    log: Any
    busy_s: Any  # of each node
    todo: Any  # [place, (what, number)]: what is left to do within an event
    ahead: Any  # [operator, then source; place]: exponential numbers of mean 1 to be used next
    hold: Any  # of the blocks of each operator, in order
    holds: Any  # of each operator
    holding: Any  # of each core
    locks: Any


def with_more_tasks(state: State) -> State:
    """The same with twice as many tasks."""
    old = state.tasks
    tasks = np.zeros(2 * len(old), TASK)
    tasks[: len(old)] = old
    link_free(tasks, len(old), int(state.control[FREE]))
    state.control[FREE] = len(old)
    state.control[FREE_COUNT] += len(old)
    return state._replace(tasks=tasks)


def link_free(tasks: Any, begin: int, then: int) -> None:
    """Puts tasks from `begin` on into the list of free ones."""
    tasks["op"][begin:] = -2
    tasks["next"][begin:] = np.arange(begin + 1, len(tasks) + 1)
    tasks["next"][-1] = then
