"""The fixed lines of a time window's kernel, Python that numba compiles; what depends on the shape replaces the @WORDS.

A tuple that is not late belongs to the newest pane (the stretch of `every` microseconds that the clock is in), so panes
fill one after the other, and what a (pane, group) holds is one entry of a log: oldest pane first, within a pane in order
of the groups' first appearance.  `slots` gives a group's newest entry, `next` leads from an entry to the group's
following one, and an entry is marked if it is its group's oldest in the window: firing walks the marks in order.

Panes are merged by van Herk's scheme over pane numbers: in blocks of as many panes as a window has, a window is a
suffix of one block (kept in place, in the entries) and a prefix of the next (kept by group, in `prefix`).
"""

HEADER = '''"""A time window's kernel, generated."""

import numpy as np
from numba import njit

jit = njit(nogil=True, cache=True)


@jit
def start(entry):
    @START


@jit
def copy(into, entry):
    @COPY


@jit
def merge(older, newer):
    @MERGE


@jit
def finish(out, entry):
    @FINISH


@jit
def head_of(out, row, group, end):
    out.row = row
    out.group = group
    out.end = end

'''

MARKS = '''
# Marks are bits; above each 64 words of them one word says which are not zero.
ONE = np.uint64(1)
BRUIJN = np.uint64(0x03F79D71B4CB0A89)
PLACE = np.zeros(64, np.int64)
for bit in range(64):
    PLACE[(0x03F79D71B4CB0A89 << bit & 0xFFFFFFFFFFFFFFFF) >> 58] = bit


@jit
def lowest(bits):
    return PLACE[np.int64(((bits & (~bits + ONE)) * BRUIJN) >> np.uint64(58))]


@jit
def mark(marks, above, position):
    word = position >> 6
    marks[word] |= ONE << np.uint64(position & 63)
    above[word >> 6] |= ONE << np.uint64(word & 63)


@jit
def next_mark(marks, above, position):
    """The first mark from a position on; there must be one."""
    word = position >> 6
    bits = marks[word] >> np.uint64(position & 63)
    if bits != 0:
        return position + lowest(bits)
    word += 1
    group = word >> 6
    bits = above[group] >> np.uint64(word & 63)
    if bits != 0:
        word += lowest(bits)
        return (word << 6) + lowest(marks[word])
    group += 1
    while above[group] == 0:
        group += 1
    word = (group << 6) + lowest(above[group])
    return (word << 6) + lowest(marks[word])

'''

SLIDING = '''
@jit
def enter(state, entries, slots, marks, above, panes, group):
    place = state.tail
    state.tail = place + 1
    if place == state.open_first:
        panes[state.pane_tail, 0] = state.pane
        panes[state.pane_tail, 1] = place
        state.pane_tail += 1
    older = np.int64(slots[group])
    if older < state.head:
        mark(marks, above, place)
        state.held += 1
    else:
        entries[older].next = place
    slots[group] = place
    entry = entries[place]
    entry.group = group
    entry.next = 0
    start(entry)
    return place


@jit
def emit(state, entries, slots, prefix, out, place, row, end, block_ends):
    """Writes the output of the group whose oldest entry is at `place`, once its newest pane is in its prefix."""
    oldest = entries[place]
    group = oldest.group
    running = prefix[group]
    newest = slots[group]
    if newest >= state.open_first:
        if running.rows == 0:
            copy(running, entries[newest])
        else:
            merge(running, entries[newest])
    head_of(out, row, group, end)
    if place >= state.block_first:
        finish(out, running)
        if block_ends:
            running.rows = 0
    elif running.rows == 0:
        finish(out, oldest)
    else:  # entry 0 stands for none and is free to compute in
        copy(entries[0], oldest)
        merge(entries[0], running)
        finish(out, entries[0])


@jit
def fire(state, entries, slots, prefix, marks, above, panes, out, row, every, span):
    """Writes the window that ends with the newest pane and lets go of its oldest pane."""
    end = (state.pane + 1) * every
    block_ends = (state.pane + 1) % span == 0
    first, stop = state.head, state.head
    if panes[state.pane_head, 0] == state.pane - span + 1:
        state.pane_head += 1
        stop = panes[state.pane_head, 1] if state.pane_head < state.pane_tail else state.tail
    held = state.held
    at = state.filled + stop - first
    place = stop
    for _ in range(held - (stop - first)):
        place = next_mark(marks, above, place)
        emit(state, entries, slots, prefix, out[at], place, row, end, block_ends)
        place += 1
        at += 1
    at = state.filled
    for place in range(first, stop):
        emit(state, entries, slots, prefix, out[at], place, row, end, block_ends)
        at += 1
        newer = np.int64(entries[place].next)
        if newer > 0:
            mark(marks, above, newer)
        else:
            state.held -= 1
    state.filled += held
    state.head = stop


@jit
def turn_block(state, entries):
    """Makes suffixes of a finished block's entries: all that are held belong to it."""
    for place in range(state.tail - 1, state.head - 1, -1):
        newer = entries[place].next
        if newer > 0:
            merge(entries[place], entries[newer])
    state.block_first = state.tail


@jit
def advance(state, entries, slots, prefix, marks, above, panes, out, row, target, every, span):
    """Moves the clock to a pane; False if `out` has no room for the next window."""
    if target == state.pane:
        return True
    while state.held > 0 and state.pane < target:
        if state.filled + state.held > out.size:
            return False
        fire(state, entries, slots, prefix, marks, above, panes, out, row, every, span)
        state.pane += 1
        state.open_first = state.tail
        if state.pane % span == 0:
            turn_block(state, entries)
    if state.held == 0:
        state.block_first = state.tail
    state.pane = target
    state.open_first = state.tail
    return True

'''

TUMBLING = '''
@jit
def enter(state, entries, slots, marks, above, panes, group):
    place = state.tail
    state.tail = place + 1
    slots[group] = place
    entry = entries[place]
    entry.group = group
    start(entry)
    return place


@jit
def advance(state, entries, slots, prefix, marks, above, panes, out, row, target, every, span):
    """Moves the clock to a pane; False if `out` has no room for the window."""
    if target == state.pane:
        return True
    if state.filled + state.tail - state.head > out.size:
        return False
    at = state.filled
    for place in range(state.head, state.tail):
        head_of(out[at], row, entries[place].group, (state.pane + 1) * every)
        finish(out[at], entries[place])
        at += 1
    state.filled = at
    state.head = state.tail
    state.open_first = state.tail
    state.pane = target
    return True

'''

PROCESS = '''
@jit
def process(states, entries, slots, prefix, marks, above, panes, out, late, groups, event_us, first, stop, every,
            span@COLUMNS):
    state = states[0]
    pane_start, pane_end, open_first = state.pane_start, state.pane_end, state.open_first
    for row in range(first, stop):
        event = event_us[row]
        if event >= pane_end:
            target = event // every
            if not advance(state, entries, slots, prefix, marks, above, panes, out, row, target, every, span):
                return row
            open_first = state.open_first
            pane_start = target * every
            pane_end = pane_start + every
            state.pane_start = pane_start
            state.pane_end = pane_end
        elif event < pane_start:
            late[state.late] = row
            state.late += 1
            continue
        group = groups[row]
        place = np.int64(slots[group])
        if place < open_first:
            place = enter(state, entries, slots, marks, above, panes, group)
        entry = entries[np.uint64(place)]
        @UPDATE
    return stop
'''
