"""Nodes over time: loads of other programs, outages."""

from __future__ import annotations

from penstock.simulate.events.kernel.compiled import compiled
from penstock.simulate.events.kernel.heaps import (
    SIZE,
    drop_root,
    offer_queue,
    raise_queue,
    rebuild,
    schedule,
)
from penstock.simulate.events.kernel.memory import (
    busy_s_of,
    changes_of,
    clock_of,
    control_of,
    cores_of,
    events_of,
    lane_order_of,
    lanes_of,
    ops_of,
    pools_of,
    queues_of,
    sources_of,
    speeds_of,
    tasks_of,
)
from penstock.simulate.events.kernel.queueing import (
    part_task,
)
from penstock.simulate.events.kernel.todo import (
    DISPATCH,
    do,
    free,
    since,
)
from penstock.simulate.events.state import (
    FIFO,
    NEXT_CHANGE,
)


@compiled
def change(s: int, now: float) -> None:
    """Cores become faster or slower; work on those that stop goes elsewhere: all of it after outages, else the rest."""
    cores, ops, pools = cores_of(s), ops_of(s), pools_of(s)
    sources, control, changes = sources_of(s), control_of(s), changes_of(s)
    drop_root(s)
    while control[NEXT_CHANGE] < len(changes) and changes[control[NEXT_CHANGE]].time_s <= now:
        change = changes[control[NEXT_CHANGE]]
        control[NEXT_CHANGE] += 1
        _set_factor(s, change.lane, change.factor, change.restart, now)
    _order_lanes(s)
    rebuild(s)
    if control[NEXT_CHANGE] < len(changes):
        slot = len(cores) + len(sources) + len(ops)
        schedule(s, changes[control[NEXT_CHANGE]].time_s, slot)
    for pool in range(len(pools)):
        do(s, DISPATCH, pool)


@compiled
def _set_factor(s: int, number: int, factor: float, restart: int, now: float) -> None:
    cores, lanes, events, control, speeds = cores_of(s), lanes_of(s), events_of(s), control_of(s), speeds_of(s)
    lane = lanes[number]
    old = lane.factor
    lane.factor = factor
    for cls in range(len(speeds)):
        if old > 0.0 and factor > 0.0:
            speeds[cls, number] *= factor / old
        elif factor > 0.0:
            speeds[cls, number] *= factor  # kept at that of a whole core while it was off
        elif old > 0.0:
            speeds[cls, number] /= old
    size, place = control[SIZE], 0
    while place < size:
        slot = events[place].slot
        if not lane.core <= slot < lane.core + lane.cores:
            place += 1
            continue
        core = cores[slot]
        rest_s = (events[place].time_s - now) * core.speed
        if factor > 0.0:
            core.speed *= factor / old
            events[place].time_s = now + rest_s / core.speed
            place += 1
        else:
            size -= 1
            events[place].time_s = events[size].time_s
            events[place].slot = events[size].slot
            _evict(s, slot, rest_s, restart, now)
    control[SIZE] = size


@compiled
def _evict(s: int, number: int, rest_s: float, restart: int, now: float) -> None:
    """A core stops: its part waits again, in front of its queue."""
    tasks, cores, lanes, busy_s = tasks_of(s), cores_of(s), lanes_of(s), busy_s_of(s)
    core = cores[number]
    task = core.task
    whole = tasks[task].whole
    part = part_task(s, whole, core.part, tasks[task].queue)
    it, of = tasks[part], tasks[whole]
    it.began = 1
    it.work_s = rest_s
    if core.merging:
        of.left = 1
    elif restart:
        it.work_s = tasks[task].work_s if task != whole and tasks[task].work_s >= 0.0 else of.work_s
    busy_s[core.node] += since(s, core.since_s, now)
    if task != whole:
        free(s, task)
    core.merging = 0
    core.task = -1
    core.next = lanes[core.lane].idle
    lanes[core.lane].idle = number
    _put_first(s, it.queue, part)


@compiled
def _put_first(s: int, queue: int, task: int) -> None:
    """It may start at once, even of an operator that is serial or waits for room: its block has begun."""
    tasks, queues, pools, clock = tasks_of(s), queues_of(s), pools_of(s), clock_of(s)
    own = queues[queue]
    it = tasks[task]
    it.before = -1
    it.next = own.first
    if own.first >= 0:
        tasks[own.first].before = task
    else:
        own.last = task
    own.first = task
    own.key = it.arrived_s if clock[FIFO] > 0.0 else it.birth_s
    if own.place >= 0:
        raise_queue(s, pools[own.pool].begin, own.place, queue)
    else:
        offer_queue(s, queue)


@compiled
def _order_lanes(s: int) -> None:
    """The fastest lanes of each pool first, for each class of operators."""
    pools, speeds, lane_order = pools_of(s), speeds_of(s), lane_order_of(s)
    for cls in range(len(speeds)):
        for number in range(len(pools)):
            pool = pools[number]
            for place in range(pool.lane + 1, pool.lane + pool.lanes):
                lane = lane_order[cls, place]
                to = place
                while to > pool.lane and _is_faster(s, cls, lane, lane_order[cls, to - 1]):
                    lane_order[cls, to] = lane_order[cls, to - 1]
                    to -= 1
                lane_order[cls, to] = lane


@compiled
def _is_faster(s: int, cls: int, one: int, other: int) -> bool:
    lanes, speeds = lanes_of(s), speeds_of(s)
    a = speeds[cls, one] if lanes[one].factor > 0.0 else 0.0
    b = speeds[cls, other] if lanes[other].factor > 0.0 else 0.0
    return a > b or (a == b and one < other)
