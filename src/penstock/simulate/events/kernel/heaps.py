"""The two heaps of the event loop: the next event of each core, source and operator; the queues with waiting blocks.

Ties go to the lower number, so that a run does not depend on the heap's history.
"""

from __future__ import annotations

import numpy as np

from penstock.simulate.events.kernel.compiled import compiled, inlined
from penstock.simulate.events.kernel.memory import control_of, events_of, order_of, pools_of, queues_of

SIZE, HOLE = 0, 1  # places of `control`: events in the heap; whether its root has been taken and not replaced


@inlined
def schedule(s: int, time_s: float, slot: int) -> None:
    """Adds an event; right after one was taken it goes to the root, which saves half of the work."""
    events, control = events_of(s), control_of(s)
    if control[HOLE]:
        control[HOLE] = 0
        sink_event(s, control[SIZE], time_s, slot)
        return
    place = control[SIZE]
    control[SIZE] += 1
    while place > 0:
        parent = (place - 1) >> 2
        above = events[parent]
        if above.time_s < time_s or (above.time_s == time_s and above.slot < slot):
            break
        events[place].time_s = above.time_s
        events[place].slot = above.slot
        place = parent
    events[place].time_s = time_s
    events[place].slot = slot


@inlined
def _first_of(s: int, one: int, other: int) -> int:
    """Which of two places has the earlier event."""
    events = events_of(s)
    a_s, b_s = events[one].time_s, events[other].time_s
    is_other = (b_s < a_s) | ((b_s == a_s) & (events[other].slot < events[one].slot))
    return other if is_other else one


@inlined
def sink_event(s: int, size: int, time_s: float, slot: int) -> None:
    """Puts an event at the root, and down to where it belongs: four children each, which share a cache line.

    Which child is first is a matter of chance, so it is found without branches; places from `size` on are never.
    """
    events = events_of(s)
    place = 0
    while True:
        child = 4 * place + 1
        if child >= size:
            break
        left, right = _first_of(s, child, child + 1), _first_of(s, child + 2, child + 3)
        best = _first_of(s, left, right)
        best_s, best_slot = events[best].time_s, events[best].slot
        if best_s > time_s or (best_s == time_s and best_slot > slot):
            break
        events[place].time_s = best_s
        events[place].slot = best_slot
        place = best
    events[place].time_s = time_s
    events[place].slot = slot


@inlined
def drop_root(s: int) -> None:
    """Closes the hole that a taken event left."""
    events, control = events_of(s), control_of(s)
    control[HOLE] = 0
    control[SIZE] -= 1
    size = control[SIZE]
    time_s, slot = events[size].time_s, events[size].slot
    events[size].time_s = np.inf
    if size > 0:
        sink_event(s, size, time_s, slot)


@compiled
def rebuild(s: int) -> None:
    """Puts events in order after their times have changed in place, or some are gone: insertion by growing."""
    events, control = events_of(s), control_of(s)
    size = control[SIZE]
    control[SIZE] = 0
    control[HOLE] = 0
    for number in range(size):
        schedule(s, events[number].time_s, events[number].slot)
    for number in range(size, len(events)):
        events[number].time_s = np.inf


@inlined
def is_before(s: int, one: int, other: int) -> bool:
    """Whether the first block of a queue is due before that of another."""
    queues = queues_of(s)
    a, b = queues[one], queues[other]
    if a.rank != b.rank:
        return a.rank < b.rank
    return a.key < b.key or (a.key == b.key and one < other)


@inlined
def raise_queue(s: int, begin: int, place: int, queue: int) -> None:
    order, queues = order_of(s), queues_of(s)
    while place > 0:
        parent = (place - 1) >> 1
        above = order[begin + parent]
        if not is_before(s, queue, above):
            break
        order[begin + place] = above
        queues[above].place = place
        place = parent
    order[begin + place] = queue
    queues[queue].place = place


@inlined
def lower_queue(s: int, begin: int, size: int, place: int, queue: int) -> None:
    order, queues = order_of(s), queues_of(s)
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and is_before(s, order[begin + child + 1], order[begin + child]):
            child += 1
        below = order[begin + child]
        if not is_before(s, below, queue):
            break
        order[begin + place] = below
        queues[below].place = place
        place = child
    order[begin + place] = queue
    queues[queue].place = place


@inlined
def offer_queue(s: int, queue: int) -> None:
    """A queue has blocks that may start: into its pool's heap."""
    queues, pools = queues_of(s), pools_of(s)
    pool = queues[queue].pool
    place = pools[pool].size
    pools[pool].size += 1
    raise_queue(s, pools[pool].begin, place, queue)


@inlined
def withdraw_queue(s: int, queue: int) -> None:
    """A queue has nothing that may start."""
    order, queues, pools = order_of(s), queues_of(s), pools_of(s)
    pool, place = queues[queue].pool, queues[queue].place
    begin = pools[pool].begin
    pools[pool].size -= 1
    size = pools[pool].size
    queues[queue].place = -1
    if place < size:
        last = order[begin + size]
        lower_queue(s, begin, size, place, last)
        raise_queue(s, begin, queues[last].place, last)
