"""A finished block goes to its readers, or waits for room."""

from __future__ import annotations

from penstock.simulate.events.kernel.compiled import compiled, inlined
from penstock.simulate.events.kernel.heaps import (
    offer_queue,
    withdraw_queue,
)
from penstock.simulate.events.kernel.memory import (
    clock_of,
    consumers_of,
    control_of,
    cores_of,
    ops_of,
    queues_of,
    serves_of,
    shares_of,
    sources_of,
    stations_of,
    tasks_of,
    todo_of,
)
from penstock.simulate.events.kernel.queueing import (
    idle_lane,
)
from penstock.simulate.events.kernel.random_draws import (
    stepped,
    unit,
)
from penstock.simulate.events.kernel.todo import (
    ARRIVE,
    DELIVER,
    DISPATCH,
    FREE_CORE,
    HAS_GONE,
    NOTHING,
    PARKED_HAS_GONE,
    REOPEN,
    SOURCE_GOES_ON,
    UNBLOCK,
    do,
    free,
    is_open,
    new_task,
    since,
)
from penstock.simulate.events.kernel.travelling import (
    travel,
    travel_s,
)
from penstock.simulate.events.state import (
    NET_LATENCY,
    SOURCE_AREA,
    TODO,
)


@inlined
def deliver(s: int, task: int, now: float) -> int:
    """Gives a finished block to those of its readers that it has not gone to; it waits where one has no room for it.

    The block that arrives next, where it is the only one, or -1.
    """
    tasks, ops, sources, stations = tasks_of(s), ops_of(s), sources_of(s), stations_of(s)
    consumers, control = consumers_of(s), control_of(s)
    it = tasks[task]
    if it.op >= 0:
        first, count = ops[it.op].first_consumer, ops[it.op].consumers
        if it.tuples <= 0.0:
            count = 0
    else:
        first, count = sources[it.station].first_consumer, sources[it.station].consumers
    begin = control[TODO]
    _then(s, task)
    arrivals = control[TODO]
    sent = False
    while it.consumer < count:
        op = consumers[first + it.consumer]
        station = it.granted
        if station < 0:
            station = _station_of(s, op)
            if stations[station].limit >= 0 and not _accepts(s, station, it.core):
                if ops[op].drops:
                    stations[station].dropped += 1
                    it.consumer += 1
                    continue
                _block(s, task, station)
                _stand_still(s, task, station, begin, arrivals)
                break
        it.granted = -1
        it.consumer += 1
        sent = it.consumer == count
        own = task if sent else _copy_of(s, task)
        if sent:
            _leave(s, task, now)
        own = _send(s, own, station, now)
        if own >= 0 and sent and control[TODO] == arrivals:
            return int(own)
        if own >= 0:
            do(s, ARRIVE, own)
        if sent:
            break
    if control[TODO] > arrivals + 1:
        _reverse(s, arrivals)
    if not sent and it.consumer == count:
        _leave(s, task, now)
        free(s, task)
    return -1


@inlined
def _then(s: int, task: int) -> None:
    """What follows when a block has gone, the last first: others of its operator begin, its core goes on."""
    tasks, ops, sources, stations = tasks_of(s), ops_of(s), sources_of(s), stations_of(s)
    it = tasks[task]
    if it.op < 0:
        if sources[it.station].waiting:
            do(s, SOURCE_GOES_ON, it.station)
        return
    if it.parked or ops[it.op].serial:
        do(s, REOPEN, it.op)
        if it.core >= 0:
            do(s, FREE_CORE, it.core)
        do(s, PARKED_HAS_GONE if it.parked else HAS_GONE, it.station)
        return
    stations[it.station].in_service -= 1
    if it.core >= 0:
        do(s, FREE_CORE, it.core)


@compiled
def _reverse(s: int, begin: int) -> None:
    """Blocks arrive in the order of readers."""
    todo, control = todo_of(s), control_of(s)
    end = control[TODO] - 1
    while begin < end:
        todo[begin, 0], todo[end, 0] = todo[end, 0], todo[begin, 0]
        todo[begin, 1], todo[end, 1] = todo[end, 1], todo[begin, 1]
        begin, end = begin + 1, end - 1


@compiled
def has_gone(s: int, station: int, parked: int) -> None:
    """A block of an operator that is serial, or that waited for room, has gone: the next may begin."""
    stations, ops, queues = stations_of(s), ops_of(s), queues_of(s)
    own = stations[station]
    own.in_service -= 1
    ops[own.op].parked -= parked
    if is_open(s, station):
        for queue in range(own.queue, own.queue + own.queues):
            if queues[queue].first >= 0 and queues[queue].place < 0:
                offer_queue(s, queue)


@compiled
def _copy_of(s: int, task: int) -> int:
    tasks = tasks_of(s)
    copy = new_task(s)
    it, other = tasks[task], tasks[copy]
    other.birth_s = it.birth_s
    other.tuples = it.tuples
    other.number = it.number
    other.node = it.node
    other.op = it.op
    other.station = it.station
    return copy


@compiled
def _stand_still(s: int, task: int, station: int, begin: int, end: int) -> None:
    """A finished block that its reader has no room for keeps its core, if that core cannot help the reader.

    Else the core goes on, and no block of this operator begins until the finished one has gone.
    """
    tasks, cores, ops, stations = tasks_of(s), cores_of(s), ops_of(s), stations_of(s)
    queues, serves, sources, todo = queues_of(s), serves_of(s), sources_of(s), todo_of(s)
    it = tasks[task]
    for place in range(begin, end):
        todo[place, 0] = NOTHING
    if it.op < 0:
        sources[it.station].waiting = 1
        return
    op = ops[it.op]
    if not (it.parked or op.serial):
        stations[it.station].in_service += 1
    if it.core < 0:
        return
    cores[it.core].task = -1
    if not serves[cores[it.core].lane, queues[stations[station].queue].pool]:
        return
    todo[begin, 0] = FREE_CORE
    todo[begin, 1] = it.core
    it.core = -1
    it.parked = 1
    op.parked += 1
    for number in range(op.station, op.station + op.replicas):
        own = stations[number]
        for queue in range(own.queue, own.queue + own.queues):
            if queues[queue].place >= 0 and not tasks[queues[queue].first].began:
                withdraw_queue(s, queue)


@inlined
def _station_of(s: int, op: int) -> int:
    ops, shares = ops_of(s), shares_of(s)
    own = ops[op]
    if own.replicas == 1:
        return own.station
    own.random_replica = stepped(own.random_replica)
    share = unit(own.random_replica)
    station = own.station
    last = own.station + own.replicas - 1
    while station < last and shares[station] < share:
        station += 1
    return station


@compiled
def _accepts(s: int, station: int, core: int) -> bool:
    stations = stations_of(s)
    own = stations[station]
    if own.blocked >= 0:
        return False
    return own.taken < own.limit or (own.limit == 0 and own.taken == 0 and _can_start(s, station, core))


@compiled
def _can_start(s: int, station: int, core: int) -> bool:
    """Whether a block would start at once: on an idle core, or on the one that has just finished."""
    cores, ops, stations, queues, serves = cores_of(s), ops_of(s), stations_of(s), queues_of(s), serves_of(s)
    if not is_open(s, station):
        return False
    pool = queues[stations[station].queue].pool
    if core >= 0 and serves[cores[core].lane, pool]:
        return True
    return idle_lane(s, pool, ops[stations[station].op].cls) >= 0


@compiled
def _block(s: int, task: int, station: int) -> None:
    """A block waits for room at a station, in the order of coming."""
    tasks, stations = tasks_of(s), stations_of(s)
    own = stations[station]
    tasks[task].next = -1
    if own.blocked < 0:
        own.blocked = task
    else:
        tasks[own.blocked_last].next = task
    own.blocked_last = task


@inlined
def _leave(s: int, task: int, now: float) -> None:
    tasks, ops, clock = tasks_of(s), ops_of(s), clock_of(s)
    it = tasks[task]
    if it.op >= 0:
        ops[it.op].area += since(s, it.arrived_s, now)
    else:
        clock[SOURCE_AREA] += since(s, it.arrived_s, now)


@inlined
def _send(s: int, task: int, station: int, now: float) -> int:
    """The block that arrives at once, or -1: it travels."""
    tasks, stations, clock = tasks_of(s), stations_of(s), clock_of(s)
    it = tasks[task]
    own = stations[station]
    travels_s = 0.0
    if clock[NET_LATENCY] >= 0.0:
        travels_s = travel_s(s, task, station)
    it.op = own.op
    it.station = station
    it.arrived_s = now
    own.taken += 1
    if travels_s > 0.0:
        it.began = 1
        it.whole = task
        travel(s, task, now + travels_s)
        return -1
    return task


@compiled
def unblock(s: int, station: int) -> None:
    """The first block that waits for room at a station gets it, if there is some; the next is looked at afterwards."""
    tasks, stations = tasks_of(s), stations_of(s)
    own = stations[station]
    if own.blocked < 0:
        return
    if own.taken < own.limit or (own.limit == 0 and own.taken == 0 and _can_start(s, station, -1)):
        task = own.blocked
        own.blocked = tasks[task].next
        tasks[task].granted = station
        do(s, UNBLOCK, station)
        do(s, DELIVER, task)


@compiled
def reopen(s: int, number: int) -> None:
    """Blocks of an operator that was closed may start, unless it still is."""
    ops, stations, queues = ops_of(s), stations_of(s), queues_of(s)
    op = ops[number]
    for station in range(op.station, op.station + op.replicas):
        own = stations[station]
        for queue in range(own.queue, own.queue + own.queues):
            if queues[queue].first >= 0 and queues[queue].place < 0 and is_open(s, station):
                offer_queue(s, queue)
            if queues[queue].place >= 0:
                do(s, DISPATCH, queues[queue].pool)
