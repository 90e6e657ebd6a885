"""The fixed lines of a time window's kernel, Python that numba compiles; what depends on the shape replaces the @WORDS.

A tuple that is not late belongs to the newest pane (the stretch of `every` microseconds that the clock is in), so panes
fill one after the other, and what a (pane, group) holds is one entry of a log: oldest pane first, in a pane in order of
the groups' first appearance.  Places in the log only grow and are kept in a ring.  `slots` gives a group's newest
entry, `ahead` how far on in the log the group's following entry is (0: nowhere), and an entry is marked if it is its
group's oldest in the window: firing walks the marks in order.

Panes are merged by van Herk's scheme over pane numbers: in blocks of as many panes as a window has, a window is a
suffix of one block (kept in place, in the entries) and a prefix of the next (kept by group, in `prefix`).

Whether tuples are of the open pane is asked for many at a time, which takes vector instructions, before any of them is
entered.

Inner loops call no function that takes an array: numba would count its references, atomically, at each call (measured:
30 ns a group and pane).
"""

HEADER = '''"""A time window's kernel, generated: see penstock.kernels.windows.time.text."""

import numpy as np
from numba import njit

from penstock.kernels.codegen.prefetch import prefetch

jit = njit(nogil=True, cache=True)
CHUNK = np.uint64(256)


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
def fill(state, entries, slots, marks, above, panes, late, groups, group_count, event_us, first, stop, open_us@COLUMNS):
    """Enters tuples until one moves the clock out of the open pane; gives its row."""
    pane_start, open_first, mask = state.pane_start, state.open_first, entries.size - 1
    begin = np.uint64(first)
    while begin < stop:
        end = min(begin + CHUNK, np.uint64(stop))
        outside = False
        for row in range(begin, end):
            outside |= np.uint64(event_us[row] - pane_start) >= open_us
        if outside:
            end = begin
            while np.uint64(event_us[end] - pane_start) < open_us:
                end += np.uint64(1)
        if state.tail - open_first < group_count:  # else all groups are in the open pane
            for row in range(begin, end):
                group = groups[row]
                if slots[group] < open_first:
                    place = state.tail
                    state.tail = place + 1
                    @ENTER
                    slots[group] = place
                    fresh = entries[np.uint64(place & mask)]
                    fresh.group = group
                    fresh.ahead = 0
                    start(fresh)
        for row in range(begin, end):
            entry = entries[np.uint64(slots[groups[row]] & mask)]
            @UPDATE
        if outside:
            if event_us[end] >= pane_start:
                return np.int64(end)
            late[state.late] = end
            state.late += 1
            end += np.uint64(1)
        begin = end
    return stop


@jit
def absorb(states, entries, slots, marks, above, panes, groups, partials):
    """Merges entries that others made of tuples of the open pane into its own, in order."""
    state = states[0]
    open_first, mask = state.open_first, entries.size - 1
    for row in range(groups.size):
        group = groups[row]
        if slots[group] < open_first:
            place = state.tail
            state.tail = place + 1
            @ENTER
            slots[group] = place
            fresh = entries[np.uint64(place & mask)]
            fresh.group = group
            fresh.ahead = 0
            copy(fresh, partials[row])
        else:
            merge(entries[np.uint64(slots[group] & mask)], partials[row])


@jit
def process(states, entries, slots, prefix, marks, above, panes, late, groups, group_count, event_us, first, stop,
            every, span, rows, ends, keys@OUT@COLUMNS):
    """Takes a block from a row on; gives the row before which the outputs ran out of room, else `stop`."""
    state = states[0]
    row = first
    while True:
        open_us = np.uint64(every if state.started else 0)
        row = fill(state, entries, slots, marks, above, panes, late, groups, group_count, event_us, row, stop,
                   open_us@COLUMNS)
        if row == stop:
            return row
        target = event_us[row] // every
        if not advance(state, entries, slots, prefix, marks, above, panes, row, target, every, span,
                       rows, ends, keys@OUT):
            return row
        state.started = 1
        state.pane_start = target * every
'''

ENTER_TUMBLING = "state.held += 1"

ENTER_SLIDING = """if place == open_first:
    newest = state.pane_tail & (panes.shape[0] - 1)
    panes[newest, 0] = state.pane
    panes[newest, 1] = place
    state.pane_tail += 1
older = slots[group]
if older < state.head:
    @MARK
    state.held += 1
else:
    entries[np.uint64(older & mask)].ahead = place - older"""

# Marks are bits; for each 64 words of them one word above says which are not zero.
MARK = """word = np.uint64((place >> 6) & (marks.size - 1))
marks[word] |= ONE << np.uint64(place & 63)
above[word >> np.uint64(6)] |= ONE << (word & np.uint64(63))"""

NEXT_MARK = """bits = marks[np.uint64((place >> 6) & (marks.size - 1))] >> np.uint64(place & 63)
if bits != 0:
    place += lowest(bits)
else:
    far = (place >> 6) + 1
    bits = above[(far >> 6) & (above.size - 1)] >> np.uint64(far & 63)
    if bits != 0:
        far += lowest(bits)
    else:
        far = (far >> 6) + 1
        while above[far & (above.size - 1)] == 0:
            far += 1
        far = (far << 6) + lowest(above[far & (above.size - 1)])
    place = (far << 6) + lowest(marks[far & (marks.size - 1)])"""

SLIDING = '''

ONE, AHEAD = np.uint64(1), 12


@jit
def lowest(bits):
    """The place of the lowest bit that is set: how many bits are below it."""
    below = (bits & (~bits + ONE)) - ONE
    below = below - ((below >> ONE) & np.uint64(0x5555555555555555))
    below = (below & np.uint64(0x3333333333333333)) + ((below >> np.uint64(2)) & np.uint64(0x3333333333333333))
    below = (below + (below >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((below * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit
def fire(state, entries, slots, prefix, marks, above, panes, row, every, span, rows, ends, keys@OUT):
    """Writes the window that ends with the newest pane and lets go of its oldest pane."""
    block_ends = (state.pane + 1) % span == 0
    open_first, block_first, mask = state.open_first, state.block_first, entries.size - 1
    first, stop, held, filled = state.head, state.head, state.held, state.filled
    last_pane = panes.shape[0] - 1
    if panes[state.pane_head & last_pane, 0] == state.pane - span + 1:
        state.pane_head += 1
        stop = panes[state.pane_head & last_pane, 1] if state.pane_head < state.pane_tail else state.tail
    rows[filled : filled + held] = row
    ends[filled : filled + held] = (state.pane + 1) * every
    place = first
    for at in range(np.uint64(filled), np.uint64(filled + held)):
        if place + AHEAD < stop:  # blocks between two firings push this out of the cache
            prefetch(prefix, np.uint64(entries[np.uint64((place + AHEAD) & mask)].group))
        if place >= stop:  # all entries of the oldest pane are marked, and later ones here and there
            @NEXT_MARK
        oldest = entries[np.uint64(place & mask)]
        group = oldest.group
        keys[at] = group
        running = prefix[group]
        newest = slots[group]
        if newest >= open_first:
            if running.rows == 0:
                copy(running, entries[np.uint64(newest & mask)])
            else:
                merge(running, entries[np.uint64(newest & mask)])
        entry = oldest if place < block_first else running
        @LOAD
        if place < block_first and running.rows > 0:
            @BOTH
        @FINISH
        if block_ends:
            running.rows = 0
        place += 1
    for gone in range(first, stop):
        ahead = np.int64(entries[np.uint64(gone & mask)].ahead)
        if ahead > 0:
            place = gone + ahead
            @MARK
        else:
            held -= 1
    for gone in range(first >> 6, stop >> 6):  # the ring never brings its end into the word of its beginning
        cleared = gone & (marks.size - 1)
        marks[cleared] = 0
        above[cleared >> 6] &= ~(ONE << np.uint64(cleared & 63))
    state.filled += state.held
    state.held = held
    state.head = stop


@jit
def turn_block(state, entries):
    """Makes suffixes of a finished block's entries: all that are held belong to it."""
    mask = entries.size - 1
    for place in range(state.tail - 1, state.head - 1, -1):
        older = entries[np.uint64(place & mask)]
        if older.ahead > 0:
            merge(older, entries[np.uint64((place + np.int64(older.ahead)) & mask)])
    state.block_first = state.tail


@jit
def advance(state, entries, slots, prefix, marks, above, panes, row, target, every, span, rows, ends, keys@OUT):
    """Moves the clock to a pane; False if there is no room for the next window."""
    while state.held > 0 and state.pane < target:
        if state.filled + state.held > rows.size:
            return False
        fire(state, entries, slots, prefix, marks, above, panes, row, every, span, rows, ends, keys@OUT)
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
def advance(state, entries, slots, prefix, marks, above, panes, row, target, every, span, rows, ends, keys@OUT):
    """Moves the clock to a pane; False if there is no room for the window."""
    filled, stop = state.filled, state.filled + state.held
    if stop > rows.size:
        return False
    rows[filled:stop] = row
    ends[filled:stop] = (state.pane + 1) * every
    place = np.uint64(state.head)
    for at in range(np.uint64(filled), np.uint64(stop)):
        entry = entries[place]
        group = entry.group
        keys[at] = group
        slots[group] = 0
        @LOAD
        @FINISH
        place += np.uint64(1)
    state.filled = stop
    state.held = 0
    state.tail = state.head
    state.pane = target
    return True
'''
