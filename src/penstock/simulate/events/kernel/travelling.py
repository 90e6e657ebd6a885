"""Blocks on their way between nodes."""

from __future__ import annotations

from penstock.simulate.events.kernel.compiled import compiled
from penstock.simulate.events.kernel.heaps import (
    HOLE,
    SIZE,
    drop_root,
    rebuild,
    schedule,
)
from penstock.simulate.events.kernel.memory import (
    clock_of,
    control_of,
    cores_of,
    events_of,
    ops_of,
    pools_of,
    queues_of,
    sources_of,
    stations_of,
    tasks_of,
)
from penstock.simulate.events.kernel.todo import (
    ARRIVE,
    do,
    since,
)
from penstock.simulate.events.state import (
    NET_LATENCY,
    NET_S_PER_BYTE,
)


@compiled
def travel_s(s: int, task: int, station: int) -> float:
    """Nothing where the block is on the only node that may work on it."""
    tasks, ops, stations = tasks_of(s), ops_of(s), stations_of(s)
    queues, pools, sources = queues_of(s), pools_of(s), sources_of(s)
    clock = clock_of(s)
    it = tasks[task]
    own = stations[station]
    node = pools[queues[own.queue].pool].node
    if own.queues == 1 and node >= 0 and node == it.node:
        return 0.0
    size = ops[it.op].bytes_per_tuple if it.op >= 0 else sources[it.station].bytes_per_tuple
    return clock[NET_LATENCY] + it.tuples * size * clock[NET_S_PER_BYTE]


@compiled
def travel(s: int, task: int, due_s: float) -> None:
    """Blocks on their way to an operator are a list, the first to come first; the list has one event."""
    tasks, cores, ops, sources = tasks_of(s), cores_of(s), ops_of(s), sources_of(s)
    it = tasks[task]
    op = ops[it.op]
    it.due_s = due_s
    slot = len(cores) + len(sources) + it.op
    before = op.transit_last
    while before >= 0 and tasks[before].due_s > due_s:
        before = tasks[before].before
    it.before = before
    if before < 0:
        it.next = op.transit
        op.transit = task
        if it.next >= 0:
            _move_event(s, slot, due_s)
        else:
            schedule(s, due_s, slot)
    else:
        it.next = tasks[before].next
        tasks[before].next = task
    if it.next >= 0:
        tasks[it.next].before = task
    else:
        op.transit_last = task


@compiled
def _move_event(s: int, slot: int, time_s: float) -> None:
    events, control = events_of(s), control_of(s)
    if control[HOLE]:
        drop_root(s)
    for place in range(control[SIZE]):
        if events[place].slot == slot:
            events[place].time_s = time_s
    rebuild(s)


@compiled
def transit_ends(s: int, number: int, now: float) -> None:
    tasks, cores, ops, sources = tasks_of(s), cores_of(s), ops_of(s), sources_of(s)
    op = ops[number]
    task = op.transit
    it = tasks[task]
    op.transit = it.next
    if op.transit >= 0:
        tasks[op.transit].before = -1
        schedule(s, tasks[op.transit].due_s, len(cores) + len(sources) + number)
    else:
        op.transit_last = -1
    op.area += since(s, it.arrived_s, now)
    it.arrived_s = now
    do(s, ARRIVE, task)
