"""Blocks wait at operators, and cores wait for blocks."""

from __future__ import annotations

from penstock.simulate.events.kernel.compiled import compiled, inlined
from penstock.simulate.events.kernel.heaps import (
    is_before,
    lower_queue,
    offer_queue,
    raise_queue,
    withdraw_queue,
)
from penstock.simulate.events.kernel.memory import (
    clock_of,
    control_of,
    cores_of,
    lane_order_of,
    lane_pools_of,
    lanes_of,
    ops_of,
    order_of,
    pools_of,
    queues_of,
    serves_of,
    stations_of,
    tasks_of,
)
from penstock.simulate.events.kernel.todo import (
    DISPATCH,
    UNBLOCK,
    do,
    is_open,
    new_task,
)
from penstock.simulate.events.state import (
    FIFO,
    ZERO,
)


@inlined
def arrive(s: int, task: int) -> int:
    """A block comes to an operator; the core that it begins on at once, or -1: it waits."""
    tasks, ops, stations, queues, pools = tasks_of(s), ops_of(s), stations_of(s), queues_of(s), pools_of(s)
    it = tasks[task]
    op = ops[it.op]
    station = stations[it.station]
    it.whole = task
    it.left = op.partitions
    it.unstarted = op.partitions
    it.began = 0
    it.merged = 0
    it.parked = 0
    it.part = 0
    it.core = -1
    op.tuples_in += it.tuples
    if op.placed:
        it.work_s = -1.0
        for part in range(station.queues):
            queue = station.queue + part
            enqueue(s, queue, part_task(s, task, part, queue))
            do(s, DISPATCH, queues[queue].pool)
        return -1
    queue = station.queue
    pool = queues[queue].pool
    lane = idle_lane(s, pool, op.cls)
    if lane < 0:
        enqueue(s, queue, task)
        return -1
    if pools[pool].size == 0 and op.partitions == 1 and queues[queue].first < 0 and is_open(s, it.station):
        it.unstarted = 0
        it.queue = queue
        return _take_idle(s, lane)
    enqueue(s, queue, task)
    do(s, DISPATCH, pool)
    return -1


@compiled
def part_task(s: int, whole: int, part: int, queue: int) -> int:
    tasks = tasks_of(s)
    task = new_task(s)
    it, of = tasks[task], tasks[whole]
    it.birth_s = of.birth_s
    it.arrived_s = of.arrived_s
    it.number = of.number
    it.op = of.op
    it.station = of.station
    it.whole = whole
    it.unstarted = 1
    it.part = part
    it.work_s = -1.0
    it.began = 0
    it.queue = queue
    return task


@inlined
def enqueue(s: int, queue: int, task: int) -> None:
    """Into its place by age: nearly always the last; in a serial operator never before a block that has begun."""
    tasks, queues, pools, clock = tasks_of(s), queues_of(s), pools_of(s), clock_of(s)
    it = tasks[task]
    own = queues[queue]
    it.queue = queue
    fifo, serial = clock[FIFO] > 0.0, ops_of(s)[it.op].serial
    key = it.arrived_s if fifo else it.birth_s
    before = own.last
    while before >= 0:
        other = tasks[before]
        if (other.arrived_s if fifo else other.birth_s) <= key or (serial and other.began):
            break
        before = other.before
    it.before = before
    if before < 0:
        it.next = own.first
        own.first = task
    else:
        it.next = tasks[before].next
        tasks[before].next = task
    if it.next >= 0:
        tasks[it.next].before = task
    else:
        own.last = task
    if before < 0:
        own.key = key
        if own.place >= 0:
            raise_queue(s, pools[own.pool].begin, own.place, queue)
        elif is_open(s, own.station):
            offer_queue(s, queue)


@inlined
def idle_lane(s: int, pool: int, cls: int) -> int:
    """The fastest lane of a pool with an idle core, -1 where there is none."""
    pools, lanes, lane_order = pools_of(s), lanes_of(s), lane_order_of(s)
    own = pools[pool]
    for place in range(own.lane, own.lane + own.lanes):
        lane = lane_order[cls, place]
        if lanes[lane].idle >= 0 and lanes[lane].factor > 0.0:
            return lane
    return -1


@inlined
def _take_idle(s: int, lane: int) -> int:
    cores, lanes = cores_of(s), lanes_of(s)
    core = lanes[lane].idle
    lanes[lane].idle = cores[core].next
    return int(core)


@inlined
def idle_core(s: int, pool: int) -> int:
    """A core for the oldest block of a pool, -1 where either is missing."""
    ops, queues, pools, order = ops_of(s), queues_of(s), pools_of(s), order_of(s)
    own = pools[pool]
    if own.size == 0:
        return -1
    lane = idle_lane(s, pool, ops[queues[order[own.begin]].op].cls)
    return _take_idle(s, lane) if lane >= 0 else -1


@inlined
def oldest_queue(s: int, core: int) -> int:
    """The queue with the oldest block that a core may work on; where there is none, the core is idle."""
    cores, pools, lanes, order, lane_pools = cores_of(s), pools_of(s), lanes_of(s), order_of(s), lane_pools_of(s)
    lane = lanes[cores[core].lane]
    best = -1
    if lane.factor > 0.0:
        for place in range(lane.pool, lane.pool + lane.pools):
            pool = pools[lane_pools[place]]
            if pool.size > 0:
                queue = order[pool.begin]
                if best < 0 or is_before(s, queue, best):
                    best = queue
    if best < 0:
        cores[core].task = -1
        cores[core].next = lane.idle
        lane.idle = core
        if control_of(s)[ZERO]:
            _unblock_without_queues(s, cores[core].lane)
    return best


@inlined
def next_part(s: int, queue: int) -> int:
    """Takes a part of the first block of a queue."""
    tasks, ops, queues, pools, clock = tasks_of(s), ops_of(s), queues_of(s), pools_of(s), clock_of(s)
    own = queues[queue]
    task = own.first
    it = tasks[task]
    it.unstarted -= 1
    if it.unstarted > 0:
        return task
    own.first = it.next
    if own.first < 0:
        own.last = -1
    else:
        tasks[own.first].before = -1
    if own.first < 0 or ops[own.op].serial or ops[own.op].parked > 0:
        withdraw_queue(s, queue)
    if own.first >= 0:
        first = tasks[own.first]
        own.key = first.arrived_s if clock[FIFO] > 0.0 else first.birth_s
        if own.place >= 0:
            pool = pools[own.pool]
            lower_queue(s, pool.begin, pool.size, own.place, queue)
    return task


@compiled
def _unblock_without_queues(s: int, lane: int) -> None:
    """A core is idle: blocks may begin that wait for operators where none may wait."""
    stations, queues, serves = stations_of(s), queues_of(s), serves_of(s)
    for number in range(len(stations)):
        own = stations[number]
        if own.limit == 0 and own.blocked >= 0 and serves[lane, queues[own.queue].pool]:
            do(s, UNBLOCK, number)
