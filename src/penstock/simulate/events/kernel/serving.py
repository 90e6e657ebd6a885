"""Cores work: a part begins, a part ends, a block is done."""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np

from penstock.simulate.events import state as places
from penstock.simulate.events.kernel.compiled import compiled, inlined
from penstock.simulate.events.kernel.heaps import (
    schedule,
)
from penstock.simulate.events.kernel.memory import (
    ahead_of,
    busy_s_of,
    clock_of,
    control_of,
    cores_of,
    given_of,
    histogram_of,
    hold_of,
    holding_of,
    holds_of,
    locks_of,
    log_of,
    ops_of,
    speeds_of,
    stations_of,
    tasks_of,
)
from penstock.simulate.events.kernel.random_draws import (
    exponential_unit,
    stepped,
    unit,
)
from penstock.simulate.events.kernel.todo import (
    FREE_CORE,
    UNBLOCK,
    do,
    free,
    since,
)
from penstock.simulate.events.state import (
    AHEAD,
    EVENTS,
    EXPONENTIAL,
    GIVEN,
    LATENCY,
    LOCKED,
    LOGGED,
    RECORD,
    RESULT_BLOCKS,
    RESULTS,
)

_LEAST = 2.0**places.LEAST_EXPONENT
_LAST_BUCKET = places.BUCKETS - 1


@inlined
def begin(s: int, task: int, core: int, now: float) -> None:
    """A part runs on a core from now on."""
    tasks, cores, ops, speeds = tasks_of(s), cores_of(s), ops_of(s), speeds_of(s)
    it = tasks[task]
    own = cores[core]
    whole = tasks[it.whole]
    if not whole.began:
        _begin_block(s, it.whole, now)
    it.began = 1
    work_s = whole.work_s
    own.part = it.part
    if task == it.whole:
        it.part += 1
    elif it.work_s >= 0.0:
        work_s = it.work_s
    own.task = task
    own.since_s = now
    own.speed = speeds[ops[it.op].cls, own.lane]
    schedule(s, now + (work_s if own.speed == 1.0 else work_s / own.speed), core)


@compiled
def draw_ahead(s: int, number: int) -> None:
    """The next draws of an operator: together, and outside of the loop, whose registers a logarithm would clear."""
    op, ahead = ops_of(s)[number], ahead_of(s)
    for place in range(AHEAD):
        op.random = stepped(op.random)
        ahead[number, place] = exponential_unit(op.random)
    op.drawn = 0


@inlined
def _begin_block(s: int, task: int, now: float) -> None:
    """The first part of a block begins: it waits no longer, and its work is drawn."""
    tasks, ops, stations = tasks_of(s), ops_of(s), stations_of(s)
    it = tasks[task]
    op = ops[it.op]
    station = stations[it.station]
    it.began = 1
    station.taken -= 1
    station.in_service += 1
    if station.blocked >= 0:
        do(s, UNBLOCK, it.station)
    op.started += 1
    op.wait_s += now - it.arrived_s
    op.wait_area += since(s, it.arrived_s, now)
    drawn = drawn_s(s, it.op, it.tuples)
    it.work_s = drawn if op.partitions == 1 else drawn / op.partitions


@inlined
def drawn_s(s: int, number: int, tuples: float) -> float:
    """The work of the next block of an operator, in seconds of a core of speed 1."""
    op = ops_of(s)[number]
    drawn = op.service
    if op.kind == EXPONENTIAL:
        if op.drawn == AHEAD:
            draw_ahead(s, number)
        drawn *= ahead_of(s)[number, op.drawn]
        op.drawn += 1
    elif op.kind == GIVEN:
        drawn = given_of(s)[op.given + op.drawn]
        op.drawn = op.drawn + 1 if op.drawn + 1 < op.given_count else 0
    drawn *= tuples
    op.service_s += drawn
    return drawn


@inlined
def finish(s: int, core: int, now: float) -> int:
    """A core ends a part, or the merging of a block's parts; the block that is done, or -1."""
    tasks, cores, ops, control, busy_s = tasks_of(s), cores_of(s), ops_of(s), control_of(s), busy_s_of(s)
    own = cores[core]
    task = own.task
    whole = tasks[task].whole
    it = tasks[whole]
    op = ops[it.op]
    if control[LOCKED] and not own.merging and _goes_on_with_locks(s, core, it.op, now):
        return -1
    if not own.merging:
        it.left -= 1
        if it.left == 0 and op.merge_s > 0.0 and not it.merged:
            own.merging = 1
            it.merged = 1
            schedule(s, now + op.merge_s * op.partitions / own.speed, core)
            return -1
    own.merging = 0
    busy_s[own.node] += since(s, own.since_s, now)
    if control[RECORD]:
        _write(s, whole, core, now)
    if task != whole:
        free(s, task)
    if it.left > 0:
        do(s, FREE_CORE, core)
        return -1
    control[EVENTS] += 1
    op.blocks += 1
    if op.selectivity != 1.0:
        it.tuples = selected(s, it.op, it.tuples)
    op.tuples_out += it.tuples
    if op.consumers == 0 and it.tuples > 0.0:
        result(s, it.tuples, now - it.birth_s)
    it.consumer = 0
    it.granted = -1
    it.parked = 0
    it.core = core
    it.node = own.node
    return int(whole)


@compiled
def _goes_on_with_locks(s: int, core: int, op: int, now: float) -> bool:
    """A core that has done a part, or held a lock for it, takes the next lock, or waits for it; False: it has had all.

    Who waits for a lock gets it in the order of coming, and its core does nothing else meanwhile.
    """
    own, of = holding_of(s)[core], holds_of(s)[op]
    if own.held > 0:
        _give_to_next(s, hold_of(s)[of.first + own.held - 1].lock, now)
    if own.held == of.count:
        own.held = 0
        return False
    hold = hold_of(s)[of.first + own.held]
    lock = locks_of(s)[hold.lock]
    own.held += 1
    own.behind = -1
    if lock.holder < 0:
        lock.holder = core
        schedule(s, now + hold.seconds / cores_of(s)[core].speed, core)
    else:
        if lock.first < 0:
            lock.first = core
        else:
            holding_of(s)[lock.last].behind = core
        lock.last = core
    return True


@compiled
def _give_to_next(s: int, number: int, now: float) -> None:
    """A lock is free: the core that has waited longest has it from now on."""
    lock = locks_of(s)[number]
    core = lock.first
    lock.holder = core
    if core >= 0:
        own, of = holding_of(s)[core], cores_of(s)[core]
        lock.first = own.behind
        hold = hold_of(s)[holds_of(s)[tasks_of(s)[of.task].op].first + own.held - 1]
        schedule(s, now + hold.seconds / of.speed, core)


@compiled
def _write(s: int, task: int, core: int, now: float) -> None:
    tasks, cores, ops, control, log = tasks_of(s), cores_of(s), ops_of(s), control_of(s), log_of(s)
    it = tasks[task]
    op = ops[it.op]
    row = log[control[LOGGED]]
    row.time_s = now
    row.block = it.number
    row.op = it.op
    row.partition = (it.station - op.station) * op.partitions + cores[core].part
    row.node = cores[core].node
    control[LOGGED] += 1


@inlined
def selected(s: int, number: int, tuples: float) -> float:
    """Whole tuples; the rest is one more by chance."""
    ops = ops_of(s)
    op = ops[number]
    exact = tuples * op.selectivity
    least = floor(exact)
    op.random_selectivity = stepped(op.random_selectivity)
    return float(least + (unit(op.random_selectivity) <= exact - least))


@inlined
def result(s: int, tuples: float, latency_s: float) -> None:
    clock, histogram = clock_of(s), histogram_of(s)
    clock[LATENCY] += tuples * latency_s
    clock[RESULTS] += tuples
    clock[RESULT_BLOCKS] += 1.0
    if latency_s > _LEAST:
        fraction, exponent = _frexp(latency_s)
        bucket = (exponent - 1 - places.LEAST_EXPONENT) * 256 + int((fraction - 0.5) * 512.0)
        histogram[min(bucket, _LAST_BUCKET)] += tuples
    else:
        histogram[0] += tuples


@inlined
def _frexp(value: Any) -> Any:
    bits = np.float64(value).view(np.int64)
    exponent = ((bits >> 52) & 0x7FF) - 1022
    return np.int64((bits & 0x000FFFFFFFFFFFFF) | 0x3FE0000000000000).view(np.float64), exponent
