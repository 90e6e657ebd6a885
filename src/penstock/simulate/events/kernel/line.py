"""A line of stations, each with a core and a queue of its own: no heap, one station after the other.

Blocks do not overtake there, so each begins when it has come and the one before it is done (Lindley 1952).  A hot path:
blocks pass a station 256 at a time, and `python -m benchmarks simulator` measures what that saves.  `advance` is the
plain version, whose figures it has to the bit, but for blocks that are still there at the end, which are added up in
another order (tests/property/simulate/test_twin_line.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.simulate.events.kernel.arriving import next_arrival_s
from penstock.simulate.events.kernel.compiled import compiled, inlined
from penstock.simulate.events.kernel.heaps import HOLE, SIZE, offer_queue, schedule
from penstock.simulate.events.kernel.memory import (
    busy_s_of,
    clock_of,
    control_of,
    cores_of,
    events_of,
    lanes_of,
    ops_of,
    queues_of,
    sources_of,
    stations_of,
    tasks_of,
)
from penstock.simulate.events.kernel.queueing import enqueue, next_part
from penstock.simulate.events.kernel.serving import drawn_s, result, selected
from penstock.simulate.events.kernel.todo import free, new_task, since
from penstock.simulate.events.state import EVENTS, FREE_COUNT, NOW, NUMBER, REACHED, RESERVE, TASKS_FULL

OP, CORE, QUEUE, NODE = 0, 1, 2, 3  # columns of a line, a row for each station
_TOGETHER = 256  # blocks; their columns fit into the first cache
_BLOCKS = np.dtype([("birth_s", "f8"), ("time_s", "f8"), ("tuples", "f8"), ("number", "i8")])


@compiled
def advance_line(s: int, until_s: float, line: Any, speeds: Any) -> int:
    """What `advance` does, for a source and the stations of `line` behind it; `speeds` of their cores."""
    control, sources = control_of(s), sources_of(s)
    blocks = np.empty(_TOGETHER, _BLOCKS)
    ends_s = np.full(len(line), -np.inf)  # of what each core works on, or did last
    arrival_s = _taken_events(s, line, ends_s)
    for place in range(len(line) - 1, -1, -1):
        _go_on(s, line, speeds, place, blocks, ends_s, until_s)
    ended = REACHED
    while arrival_s <= until_s:
        if control[FREE_COUNT] < control[RESERVE] + _TOGETHER:
            ended = TASKS_FULL
            break
        count = 0
        while count < _TOGETHER and arrival_s <= until_s:
            block = blocks[count]
            block.birth_s = arrival_s
            block.time_s = arrival_s
            block.tuples = sources[0].tuples
            block.number = control[NUMBER] + count
            arrival_s = next_arrival_s(s, 0, arrival_s)
            count += 1
        control[NUMBER] += count
        sources[0].blocks += count
        _pass(s, line, speeds, 0, blocks, count, ends_s, until_s)
    _give_events_back(s, line, ends_s, arrival_s, until_s)
    if ended == REACHED:
        clock_of(s)[NOW] = until_s
    return ended


@compiled
def _taken_events(s: int, line: Any, ends_s: Any) -> float:
    """Takes all events out of the heap: the ends of services, and the next arrival."""
    control, events, cores = control_of(s), events_of(s), cores_of(s)
    arrival_s = np.inf
    for number in range(control[SIZE]):
        slot = events[number].slot
        if slot == len(cores):
            arrival_s = events[number].time_s
        for place in range(len(line)):
            if line[place, CORE] == slot:
                ends_s[place] = events[number].time_s
        events[number].time_s = np.inf
    control[SIZE] = 0
    control[HOLE] = 0
    return arrival_s


@compiled
def _give_events_back(s: int, line: Any, ends_s: Any, arrival_s: float, until_s: float) -> None:
    for place in range(len(line)):
        if ends_s[place] > until_s:
            schedule(s, ends_s[place], line[place, CORE])
    if arrival_s < np.inf:
        schedule(s, arrival_s, len(cores_of(s)))


@compiled
def _go_on(s: int, line: Any, speeds: Any, place: int, blocks: Any, ends_s: Any, until_s: float) -> None:
    """Blocks that were at a station when the call before ended: the one that is worked on, then those that wait."""
    cores, queues, tasks = cores_of(s), queues_of(s), tasks_of(s)
    core, queue = cores[line[place, CORE]], line[place, QUEUE]
    if core.task < 0 or ends_s[place] > until_s:
        return
    it = tasks[core.task]
    _to_column(s, core.task, blocks, 0)
    count = _done(s, line, place, blocks, 0, it.arrived_s, core.since_s, ends_s[place], 0)
    _leaves_core(s, line, place)
    while queues[queue].first >= 0 and ends_s[place] <= until_s:
        if queues[queue].place < 0:  # of a serial operator, which was closed
            offer_queue(s, queue)
        task = next_part(s, queue)
        arrived_s, begin_s = tasks[task].arrived_s, ends_s[place]
        _to_column(s, task, blocks, count)
        stations_of(s)[queues[queue].station].taken -= 1
        free(s, task)
        ends_s[place] = _begun(s, line[place, OP], speeds[place], arrived_s, begin_s, blocks[count].tuples)
        if ends_s[place] > until_s:
            _stays(s, line, speeds, place, blocks, count, arrived_s, begin_s)
            break
        count = _done(s, line, place, blocks, count, arrived_s, begin_s, ends_s[place], count)
        if count == _TOGETHER:
            _pass(s, line, speeds, place + 1, blocks, count, ends_s, until_s)
            count = 0
    _pass(s, line, speeds, place + 1, blocks, count, ends_s, until_s)


@compiled
def _pass(s: int, line: Any, speeds: Any, place: int, blocks: Any, count: int, ends_s: Any, until_s: float) -> None:
    """Blocks that come to a station go on as far as they get."""
    while count > 0 and place < len(line):
        count = _through(s, line, speeds, place, blocks, count, ends_s, until_s)
        place += 1


@compiled
def _through(s: int, line: Any, speeds: Any, place: int, blocks: Any, count: int, ends_s: Any, until_s: float) -> int:
    """Blocks come to a station; how many leave it, which are the first ones then."""
    number, speed, free_s = line[place, OP], speeds[place], ends_s[place]
    op = ops_of(s)[number]
    gone = 0
    for block in range(count):
        arrived_s, tuples = blocks[block].time_s, blocks[block].tuples
        op.tuples_in += tuples
        begin_s = max(arrived_s, free_s)
        if begin_s > until_s:
            _waits(s, line, place, blocks, block, arrived_s)
            continue
        free_s = _begun(s, number, speed, arrived_s, begin_s, tuples)
        if free_s > until_s:
            _stays(s, line, speeds, place, blocks, block, arrived_s, begin_s)
        else:
            gone = _done(s, line, place, blocks, block, arrived_s, begin_s, free_s, gone)
    ends_s[place] = free_s
    return gone


@inlined
def _begun(s: int, number: int, speed: float, arrived_s: float, begin_s: float, tuples: float) -> float:
    """When a block ends whose service begins now."""
    op = ops_of(s)[number]
    op.started += 1
    op.wait_s += begin_s - arrived_s
    op.wait_area += since(s, arrived_s, begin_s)
    work_s = drawn_s(s, number, tuples)
    return begin_s + (work_s if speed == 1.0 else work_s / speed)


@inlined
def _done(
    s: int, line: Any, place: int, blocks: Any, block: int, arrived_s: float, begin_s: float, end_s: float, gone: int
) -> int:
    """A block leaves a station, and is the next column; how many have left."""
    number = line[place, OP]
    op, it, to = ops_of(s)[number], blocks[block], blocks[gone]
    busy_s_of(s)[line[place, NODE]] += since(s, begin_s, end_s)
    control_of(s)[EVENTS] += 1
    op.blocks += 1
    tuples = it.tuples
    if op.selectivity != 1.0:
        tuples = selected(s, number, tuples)
    op.tuples_out += tuples
    op.area += since(s, arrived_s, end_s)
    if tuples <= 0.0:
        return gone
    if op.consumers == 0:
        result(s, tuples, end_s - it.birth_s)
    to.birth_s = it.birth_s
    to.time_s = end_s
    to.tuples = tuples
    to.number = it.number
    return gone + 1


@inlined
def _to_column(s: int, task: int, blocks: Any, column: int) -> None:
    it, to = tasks_of(s)[task], blocks[column]
    to.birth_s = it.birth_s
    to.tuples = it.tuples
    to.number = it.number


@compiled
def _record(s: int, line: Any, place: int, blocks: Any, block: int, arrived_s: float) -> int:
    """A block that is at a station when a call ends, as a record that `advance` knows."""
    task, of = new_task(s), blocks[block]
    it = tasks_of(s)[task]
    it.birth_s, it.arrived_s = of.birth_s, arrived_s
    it.tuples, it.number = of.tuples, of.number
    it.op, it.station = line[place, OP], queues_of(s)[line[place, QUEUE]].station
    it.whole, it.queue = task, line[place, QUEUE]
    it.left, it.unstarted = 1, 1
    it.part, it.consumer, it.began, it.merged, it.parked = 0, 0, 0, 0, 0
    it.granted, it.core, it.node = -1, -1, -1
    return int(task)


@compiled
def _waits(s: int, line: Any, place: int, blocks: Any, block: int, arrived_s: float) -> None:
    task = _record(s, line, place, blocks, block, arrived_s)
    stations_of(s)[tasks_of(s)[task].station].taken += 1
    enqueue(s, line[place, QUEUE], task)


@compiled
def _stays(
    s: int, line: Any, speeds: Any, place: int, blocks: Any, block: int, arrived_s: float, begin_s: float
) -> None:
    """A block is still worked on when a call ends."""
    task = _record(s, line, place, blocks, block, arrived_s)
    it, core = tasks_of(s)[task], cores_of(s)[line[place, CORE]]
    it.began, it.unstarted, it.part = 1, 0, 1
    stations_of(s)[it.station].in_service += 1
    core.task, core.part, core.merging = task, 0, 0
    core.since_s, core.speed = begin_s, speeds[place]
    lanes_of(s)[core.lane].idle = -1


@compiled
def _leaves_core(s: int, line: Any, place: int) -> None:
    """The block that a core has worked on is gone, and the core is idle."""
    core = cores_of(s)[line[place, CORE]]
    stations_of(s)[tasks_of(s)[core.task].station].in_service -= 1
    free(s, core.task)
    core.task, core.next = -1, -1
    lanes_of(s)[core.lane].idle = line[place, CORE]
