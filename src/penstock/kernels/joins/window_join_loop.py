"""The window join's loop over tuples: numba, one pass.

Each (key, port) has a ring of the store rows that its window holds, oldest first, in a piece of one shared pool; pieces
are powers of two long, grow by moving to a longer one, and are used again by length.  A window over the whole stream
also has a queue of keys in order of arrival: its oldest tuple is the oldest of its oldest key.

Only rare paths call functions that take arrays, since numba counts references, atomically, at each such call.
"""

from __future__ import annotations

import numba as nb
import numpy as np

COUNT, TIME, DELTA = 0, 1, 2
DONE, NEED_PAIRS, NEED_POOL = 0, 1, 2
ONE = np.uint64(1)
SHORTEST = 4  # the shortest piece; a ring that ran empty keeps none that is longer
RING = np.dtype([(name, np.int32) for name in ("start", "length", "head", "count")])
PORT = np.dtype([(name, np.int64) for name in ("measure", "per_group", "size", "queue_head", "queued", "store")])
LOOP = np.dtype([(name, np.int64) for name in ("pool_used", "filled", "status", "clock_runs")])


@nb.njit(nogil=True, cache=True)
def pop(ring):  # type: ignore[no-untyped-def]
    """Drops the oldest row of a ring; True if its piece should be given back."""
    ring.head = (ring.head + 1) & (ring.length - 1)
    ring.count -= 1
    return ring.count == 0 and ring.length > SHORTEST


@nb.njit(nogil=True, cache=True)
def give_back(ring, pool, free):  # type: ignore[no-untyped-def]
    """Puts a ring's piece among the free ones of its length, which are linked through their first elements."""
    kind = np.int64(np.log2(ring.length))
    pool[ring.start] = free[kind]
    free[kind] = ring.start
    ring.length = 0


@nb.njit(nogil=True, cache=True)
def lengthen(ring, loop, pool, pool_values, free):  # type: ignore[no-untyped-def]
    """Moves a full ring to a piece twice as long; False if the pool has none."""
    length = 2 * np.int64(ring.length) if ring.length > 0 else np.int64(SHORTEST)
    kind = np.int64(np.log2(length))
    start = np.int64(free[kind])
    if start >= 0:
        free[kind] = pool[start]
    elif loop.pool_used + length <= pool.size:
        start = loop.pool_used
        loop.pool_used += length
    else:
        return False
    for place in range(ring.count):
        source = ring.start + ((ring.head + place) & (ring.length - 1))
        pool[start + place] = pool[source]
        if pool_values is not None:
            pool_values[start + place] = pool_values[source]
    if ring.length > 0:
        give_back(ring, pool, free)
    ring.start = start
    ring.length = length
    ring.head = 0
    return True


@nb.njit(nogil=True, cache=True)
def sweep(port, key, value, size, window, rings, pool, pool_values, queue, free):  # type: ignore[no-untyped-def]
    """Turns a delta window round once, oldest first, and keeps what is near the newest value."""
    held = np.int64(rings[2 * key + port].count) if window.per_group else window.queued
    for _ in range(held):
        if not window.per_group:
            key = queue[port, window.queue_head & (queue.shape[1] - 1)]
            window.queue_head += 1
            window.queued -= 1
        ring = rings[2 * np.int64(key) + port]
        row, old = pool[ring.start + ring.head], pool_values[ring.start + ring.head]
        empty = pop(ring)
        if abs(value - old) <= size:
            last = ring.start + ((ring.head + ring.count) & (ring.length - 1))
            pool[last], pool_values[last] = row, old
            ring.count += 1
            if not window.per_group:
                queue[port, (window.queue_head + window.queued) & (queue.shape[1] - 1)] = key
                window.queued += 1
        elif empty:
            give_back(ring, pool, free)


@nb.njit(nogil=True, cache=True)
def mark_live(port, rings, pool, pool_values, oldest, live):  # type: ignore[no-untyped-def]
    """Marks the store rows of a port's rings, or of those the ones whose value is above `oldest` (None: any)."""
    for place in range(port, rings.size, 2):
        ring = rings[place]
        for row in range(ring.head, ring.head + ring.count):
            at = ring.start + (row & (ring.length - 1))
            if oldest is None:  # noqa: SIM114  (numba drops a branch only if the test for None stands alone)
                live[pool[at]] = True
            elif pool_values[at] > oldest:
                live[pool[at]] = True


@nb.njit(nogil=True, cache=True)
def held_rows(port, rings, pool, pool_values, keys, rows, values):  # type: ignore[no-untyped-def]
    """Writes key, store row and value of all that a port's rings hold."""
    filled = 0
    for place in range(port, rings.size, 2):
        ring = rings[place]
        for row in range(ring.head, ring.head + ring.count):
            at = ring.start + (row & (ring.length - 1))
            keys[filled], rows[filled], values[filled] = place // 2, pool[at], pool_values[at]
            filled += 1


@nb.njit(nogil=True, cache=True)
def renumber_rows(port, rings, pool, numbers):  # type: ignore[no-untyped-def]
    """Gives the store rows of a port's rings their new numbers."""
    for place in range(port, rings.size, 2):
        ring = rings[place]
        for row in range(ring.head, ring.head + ring.count):
            at = ring.start + (row & (ring.length - 1))
            pool[at] = numbers[pool[at]]


@nb.njit(nogil=True, cache=True)
def join(  # type: ignore[no-untyped-def]
    ports, keys, values, first, loops, windows, sizes, rings, pool, pool_values, queue, free, runs, newest, clock, out,
):  # fmt: skip
    """Joins tuples from a row on; gives the row before which room ran out (the status says of what), else their number.

    One long function, since only its rare paths may call others (see above); the simple version that it must equal is
    tests/reference/window_join.py.  `values` and all that goes with them are None when both windows count: numba then
    drops those branches.
    """
    loop = loops[0]
    filled, last_queued, ring_of, room = loop.filled, queue.shape[1] - 1, np.int64(2), out.size // 3
    for row in range(first, keys.size):
        port, key = np.int64(ports[row]), np.int64(keys[row])
        if values is not None:  # noqa: SIM102
            if key < 0:  # a tick: no tuple, just the clock's time
                if values[row] > clock[0] or loop.clock_runs == 0:
                    clock[0] = values[row]
                    loop.clock_runs = 1
                continue
        mine, own, theirs = windows[port], rings[ring_of * key + port], rings[ring_of * key + 1 - port]
        enters, run = True, np.int64(0)
        if mine.measure == COUNT:
            if mine.per_group:
                if own.count == mine.size:
                    pop(own)
            elif mine.queued == mine.size:
                oldest = rings[ring_of * np.int64(queue[port, mine.queue_head & last_queued]) + port]
                mine.queue_head += 1
                mine.queued -= 1
                if pop(oldest):
                    give_back(oldest, pool, free)
        if values is not None:
            value = values[row]
            if mine.measure == TIME:
                if value > clock[0] or (loop.clock_runs == 0 and value == value):
                    clock[0] = value
                    loop.clock_runs = 1
                for side in range(2):
                    window = windows[side]
                    while window.measure == TIME and window.queued > 0:
                        oldest = rings[ring_of * np.int64(queue[side, window.queue_head & last_queued]) + side]
                        if pool_values[oldest.start + oldest.head] > clock[0] - sizes[side]:
                            break
                        window.queue_head += 1
                        window.queued -= 1
                        if pop(oldest):
                            give_back(oldest, pool, free)
                enters = value > clock[0] - sizes[port]
            elif mine.measure == DELTA:
                lane = ring_of * key + port if mine.per_group else port
                run = runs[lane] + 1 if value >= newest[lane] else np.int64(1)
                held = np.int64(own.count) if mine.per_group else mine.queued
                while held > 0:
                    oldest = own
                    if not mine.per_group:
                        oldest = rings[ring_of * np.int64(queue[port, mine.queue_head & last_queued]) + port]
                    if abs(value - pool_values[oldest.start + oldest.head]) <= sizes[port]:
                        break
                    if not mine.per_group:
                        mine.queue_head += 1
                        mine.queued -= 1
                    if pop(oldest):
                        give_back(oldest, pool, free)
                    held -= 1
                if run <= held:  # what is held does not ascend: others than the oldest may be too far
                    sweep(port, key, value, sizes[port], mine, rings, pool, pool_values, queue, free)
        if filled + theirs.count > room:
            loop.status = NEED_PAIRS
            loop.filled = filled
            return row
        if enters:
            if own.count == own.length and not lengthen(own, loop, pool, pool_values, free):
                loop.status = NEED_POOL
                loop.filled = filled
                return row
            place = own.start + ((own.head + own.count) & (own.length - 1))
            pool[place] = mine.store
            own.count += 1
            if mine.measure == TIME or not mine.per_group:
                queue[port, (mine.queue_head + mine.queued) & last_queued] = key
                mine.queued += 1
            if values is not None:
                pool_values[place] = value
                if mine.measure == DELTA:
                    runs[lane] = run
                    newest[lane] = value
        store = mine.store
        mine.store = store + 1
        start, mask = np.uint64(theirs.start), np.uint64(theirs.length - 1)
        head = np.uint64(theirs.head)
        at, mine_at = np.uint64(filled), np.uint64(filled + (1 + port) * room)
        theirs_at = np.uint64(filled + (2 - port) * room)
        if values is not None:  # noqa: SIM102
            if windows[1 - port].measure == TIME:
                for partner in range(head, head + np.uint64(theirs.count)):
                    place = start + (partner & mask)
                    if pool_values[place] > clock[0] - sizes[1 - port]:
                        out[at], out[mine_at], out[theirs_at] = row, store, pool[place]
                        at, mine_at, theirs_at = at + ONE, mine_at + ONE, theirs_at + ONE
                filled = np.int64(at)
                continue
        for partner in range(head, head + np.uint64(theirs.count)):
            out[at], out[mine_at], out[theirs_at] = row, store, pool[start + (partner & mask)]
            at, mine_at, theirs_at = at + ONE, mine_at + ONE, theirs_at + ONE
        filled = np.int64(at)
    loop.status = DONE
    loop.filled = filled
    return keys.size
