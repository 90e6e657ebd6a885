"""Blocks come from sources: at random, evenly, at given moments, or by a trace."""

from __future__ import annotations

import numpy as np

from penstock.simulate.events.kernel.compiled import compiled, inlined
from penstock.simulate.events.kernel.heaps import (
    schedule,
)
from penstock.simulate.events.kernel.memory import (
    ahead_of,
    changes_of,
    control_of,
    cores_of,
    counts_of,
    edges_s_of,
    given_of,
    ops_of,
    sources_of,
    tasks_of,
)
from penstock.simulate.events.kernel.random_draws import (
    exponential_unit,
    stepped,
)
from penstock.simulate.events.kernel.todo import (
    DELIVER,
    do,
    new_task,
)
from penstock.simulate.events.state import (
    AHEAD,
    CONSTANT,
    EXPONENTIAL,
    GIVEN,
    NUMBER,
    TRACE_RANDOM,
)


@compiled
def first_events(s: int) -> None:
    """The first arrival of each source, and the first change of a node."""
    cores, ops, sources, changes = cores_of(s), ops_of(s), sources_of(s), changes_of(s)
    for source in range(len(sources)):
        _next_arrival(s, source, 0.0)
    if len(changes):
        schedule(s, changes[0].time_s, len(cores) + len(sources) + len(ops))


@inlined
def arrival(s: int, source: int, now: float) -> int:
    """A block comes from a source; it, or -1 where it waits behind one that the source could not send."""
    tasks, sources, control = tasks_of(s), sources_of(s), control_of(s)
    own = sources[source]
    task = new_task(s)
    it = tasks[task]
    it.birth_s = now
    it.arrived_s = now
    it.tuples = own.tuples
    it.number = control[NUMBER]
    it.op = -1
    it.station = source
    it.whole = task
    it.consumer = 0
    it.granted = -1
    it.node = -1
    it.core = -1
    control[NUMBER] += 1
    own.blocks += 1
    _next_arrival(s, source, now)
    if own.waiting:
        it.next = -1
        if own.backlog < 0:
            own.backlog = task
        else:
            tasks[own.backlog_last].next = task
        own.backlog_last = task
        return -1
    return int(task)


@inlined
def _next_arrival(s: int, source: int, now: float) -> None:
    at_s = next_arrival_s(s, source, now)
    if at_s < np.inf:
        schedule(s, at_s, len(cores_of(s)) + source)


@inlined
def next_arrival_s(s: int, source: int, now: float) -> float:
    """When the next block of a source comes, infinity where there is none."""
    sources, given = sources_of(s), given_of(s)
    own = sources[source]
    if own.kind == EXPONENTIAL:
        if own.drawn == AHEAD:
            _draw_ahead(s, source)
        at_s = now + ahead_of(s)[len(ops_of(s)) + source, own.drawn] / own.rate
        own.drawn += 1
    elif own.kind == CONSTANT:
        own.drawn += 1
        at_s = own.drawn / own.rate
    elif own.kind == GIVEN:
        at_s = given[own.given + own.drawn] if own.drawn < own.given_count else np.inf
        own.drawn += 1
    else:
        at_s = _next_of_trace(s, source)
    return at_s


@compiled
def _draw_ahead(s: int, number: int) -> None:
    """The next draws of a source, together."""
    own, ahead, row = sources_of(s)[number], ahead_of(s), len(ops_of(s)) + number
    for place in range(AHEAD):
        own.random = stepped(own.random)
        ahead[row, place] = exponential_unit(own.random)
    own.drawn = 0


@compiled
def _next_of_trace(s: int, source: int) -> float:
    """The moment at which the trace has counted as many tuples as the next block ends with."""
    sources, edges_s, counts = sources_of(s), edges_s_of(s), counts_of(s)
    own = sources[source]
    step = own.tuples
    if own.kind == TRACE_RANDOM:
        own.random = stepped(own.random)
        step *= exponential_unit(own.random)
    own.mass += step
    begin, end = own.given, own.given + own.given_count
    piece = begin + own.drawn
    while piece < end and counts[piece + 1] < own.mass:
        piece += 1
    own.drawn = piece - begin
    if piece >= end:
        return np.inf
    share = (own.mass - counts[piece]) / (counts[piece + 1] - counts[piece])
    return edges_s[piece] + share * (edges_s[piece + 1] - edges_s[piece])


@compiled
def source_goes_on(s: int, number: int) -> None:
    """The block that a source could not send has gone: the next one."""
    sources, tasks = sources_of(s), tasks_of(s)
    source = sources[number]
    following = source.backlog
    if following >= 0:
        source.backlog = tasks[following].next
        do(s, DELIVER, following)
    else:
        source.waiting = 0
