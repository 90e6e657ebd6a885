"""The event loop: arrivals, services, queues, back-pressure, locks, the network, and changes of nodes over time.

A hot path: records in flat arrays, no Python objects; `python -m benchmarks simulator` measures it, and
tests/reference/twin.py is the plain version whose log it must equal.  One event is one block finished at one operator.
"""

from __future__ import annotations

from penstock.simulate.events.kernel.arriving import (
    arrival,
    source_goes_on,
)
from penstock.simulate.events.kernel.compiled import compiled
from penstock.simulate.events.kernel.delivering import (
    deliver,
    has_gone,
    reopen,
    unblock,
)
from penstock.simulate.events.kernel.heaps import (
    HOLE,
    SIZE,
    drop_root,
)
from penstock.simulate.events.kernel.memory import (
    clock_of,
    control_of,
    cores_of,
    events_of,
    log_of,
    ops_of,
    order_of,
    pools_of,
    sources_of,
    todo_of,
)
from penstock.simulate.events.kernel.node_changes import (
    change,
)
from penstock.simulate.events.kernel.queueing import (
    arrive,
    idle_core,
    next_part,
    oldest_queue,
)
from penstock.simulate.events.kernel.serving import (
    begin,
    finish,
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
)
from penstock.simulate.events.kernel.travelling import (
    transit_ends,
)
from penstock.simulate.events.state import (
    FREE_COUNT,
    LOG_FULL,
    LOGGED,
    NOW,
    REACHED,
    RECORD,
    RESERVE,
    TASKS_FULL,
    TODO,
)


@compiled
def advance(s: int, until_s: float) -> int:
    """Runs all events up to a moment; ends early where tasks or log rows are used up, to go on with more of them."""
    cores, ops, pools = cores_of(s), ops_of(s), pools_of(s)
    sources, events, order = sources_of(s), events_of(s), order_of(s)
    control, clock, log = control_of(s), clock_of(s), log_of(s)
    todo = todo_of(s)
    first_source = len(cores)
    first_op = first_source + len(sources)
    first_change = first_op + len(ops)
    while control[SIZE] > 0 and events[0].time_s <= until_s:
        if control[FREE_COUNT] < control[RESERVE]:
            return TASKS_FULL
        if control[RECORD] and control[LOGGED] + 1 >= len(log):
            return LOG_FULL
        now, slot = events[0].time_s, events[0].slot
        control[HOLE] = 1
        clock[NOW] = now
        what, number = NOTHING, -1
        if slot < first_source:
            number = finish(s, slot, now)
            what = DELIVER if number >= 0 else NOTHING
        elif slot < first_op:
            number = arrival(s, slot - first_source, now)
            what = DELIVER if number >= 0 else NOTHING
        elif slot < first_change:
            transit_ends(s, slot - first_op, now)
        else:
            change(s, now)
        while True:
            if what == NOTHING:
                if control[TODO] == 0:
                    break
                control[TODO] -= 1
                what, number = todo[control[TODO], 0], todo[control[TODO], 1]
            core, queue, task = -1, -1, -1
            if what == DELIVER:
                number = deliver(s, number, now)
                what = ARRIVE if number >= 0 else NOTHING
            if what == ARRIVE:
                core = arrive(s, number)
                if core >= 0:
                    task = number
            elif what == FREE_CORE:
                core = number
                queue = oldest_queue(s, core)
            elif what == DISPATCH:
                core = idle_core(s, number)
                if core >= 0:
                    queue = order[pools[number].begin]
                    do(s, DISPATCH, number)
            elif what == UNBLOCK:
                unblock(s, number)
            elif what == REOPEN:
                reopen(s, number)
            elif what in (HAS_GONE, PARKED_HAS_GONE):
                has_gone(s, number, what == PARKED_HAS_GONE)
            elif what == SOURCE_GOES_ON:
                source_goes_on(s, number)
            what = NOTHING
            if queue >= 0:
                task = next_part(s, queue)
            if task >= 0:
                begin(s, task, core, now)
        if control[HOLE]:
            drop_root(s)
    clock[NOW] = until_s
    return REACHED
