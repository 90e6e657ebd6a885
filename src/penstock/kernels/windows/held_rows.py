"""Windows that hold rows: every kind of window, with the rows of each firing spelt out.

Serves what running aggregates cannot (collect, distinct counts, strings, users' functions) and the windows that have no
kernel of their own (delta, punctuation, groups inside a whole-stream window).  Work is one step per arriving row plus
one per row of each firing.  Rows are numbers into a store that the caller keeps: retained rows, then the new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

# mypy: disable-error-code="no-untyped-def"

Integers = npt.NDArray[np.int64]
COUNT, TIME, DELTA, PUNCTUATION = range(4)
_MEASURES = {"count": COUNT, "time": TIME, "delta": DELTA, "punctuation": PUNCTUATION}
_NONE = -1
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Firings:
    """Outputs in order: the row (or mark) that triggered each, its group, and its rows as store numbers."""

    triggers: Integers
    groups: Integers
    ends: Integers  # time windows: the window's end; else 0
    window_rows: Integers  # rows in the whole window, whatever their group
    offsets: Integers
    members: Integers
    late: Integers


class HeldRows:
    """The rows held by the windows of one operator."""

    def __init__(self, measure: str, tumbling: bool, size: float, every: float, per_group: bool) -> None:
        self.kind = np.array([_MEASURES[measure], tumbling, per_group, every], np.int64)
        self.size = float(size)
        self.next = np.empty(0, np.int64)
        self.group = np.empty(0, np.int64)
        self.value = np.empty(0, np.float64)
        self.heads, self.tails = np.full(1, _NONE), np.full(1, _NONE)
        self.held, self.ordinals = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self.slot = np.full(1, _NONE, np.int64)  # scratch of firings, all _NONE between them
        self.clock = np.array([_NEVER, 0], np.int64)  # highest event time seen; punctuations seen
        self.store_rows = 0

    @property
    def state_bytes(self) -> int:
        arrays = (self.next, self.group, self.value, self.heads, self.tails, self.held, self.ordinals)
        return sum(array.nbytes for array in arrays)

    def process(self, groups: Integers, group_count: int, values: npt.NDArray[np.float64], marks: Integers) -> Firings:
        """New rows with their groups and attribute values; `marks` are punctuations before these row numbers."""
        self._grow(len(groups), max(group_count, 1))
        start = self.store_rows
        self.group[start : start + len(groups)] = groups
        self.value[start : start + len(groups)] = values
        self.store_rows = start + len(groups)
        rows, owners = (self.next, self.group, self.value), (self.heads, self.tails, self.held)
        state = (rows, owners, self.ordinals, self.clock, self.slot)
        return Firings(*_process(self.kind, self.size, start, len(groups), marks, *state))

    def flush(self) -> Firings:
        """What windows hold at the end of the stream: time windows at each end to come, tumbling ones by age."""
        rows, owners = (self.next, self.group, self.value), (self.heads, self.tails, self.held)
        full = np.flatnonzero(self.heads != _NONE)
        by_age = full[np.argsort(self.heads[full])]
        return Firings(*_flush(self.kind, self.size, by_age, rows, owners, self.clock, self.slot))

    def live(self) -> Integers:
        """The store numbers of held rows, ascending."""
        rows: Integers = _live(self.heads, self.next, int(self.held.sum()))
        rows.sort()
        return rows

    def renumber(self, live: Integers) -> None:
        """After the caller kept just the rows `live` of its store."""
        number = np.full(self.store_rows + 1, _NONE, np.int64)
        number[live] = np.arange(len(live))
        self.next = number[self.next[live]]
        self.group, self.value = self.group[live], self.value[live]
        self.heads, self.tails = number[self.heads], number[self.tails]
        self.store_rows = len(live)

    def export(self) -> dict[str, npt.NDArray[Any]]:
        """The state as arrays."""
        names = ("heads", "tails", "held", "ordinals", "clock")
        rows = {name: getattr(self, name)[: self.store_rows] for name in ("next", "group", "value")}
        return {**rows, **{name: getattr(self, name) for name in names}}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Takes over what `export` gave."""
        for name, array in arrays.items():
            setattr(self, name, array.copy())
        self.store_rows = len(self.next)

    def hold(self, groups: Integers, values: npt.NDArray[np.float64]) -> None:
        """Takes rows of a time window, oldest first, instead of all that it had; they are all of the caller's store."""
        count = len(groups)
        self._grow(count, int(groups.max(initial=0)) + 1)
        self.next[:count] = np.append(np.arange(1, count), _NONE)[:count]
        self.group[:count], self.value[:count] = groups, values
        self.heads[0], self.tails[0] = (0, count - 1) if count else (_NONE, _NONE)
        self.held[0] = self.store_rows = count

    def _grow(self, rows: int, groups: int) -> None:
        needed = self.store_rows + rows
        if needed > len(self.next):
            extra = max(needed, 2 * len(self.next)) - len(self.next)
            self.next = np.append(self.next, np.full(extra, _NONE, np.int64))
            self.group = np.append(self.group, np.zeros(extra, np.int64))
            self.value = np.append(self.value, np.zeros(extra))
        if groups > len(self.slot):
            self.slot = np.full(2 * groups, _NONE, np.int64)
        owners = groups if self.kind[2] else 1
        if owners > len(self.heads):
            extra = max(owners, 2 * len(self.heads)) - len(self.heads)
            self.heads, self.tails = (np.append(a, np.full(extra, _NONE, np.int64)) for a in (self.heads, self.tails))
            self.held, self.ordinals = (np.append(a, np.zeros(extra, np.int64)) for a in (self.held, self.ordinals))


@nb.njit(nogil=True, cache=True)
def _live(heads, following, rows):
    found = np.empty(rows, np.int64)
    n = 0
    for owner in range(heads.shape[0]):
        row = heads[owner]
        while row != _NONE:
            found[n] = row
            n += 1
            row = following[row]
    return found


# Below, `rows` is (following, group, value), per stored row; `owners` is (heads, tails, held), per
# owner of a list of rows; `firings` is (outputs so far, out, offsets, members, scratch, slot), arrays that grow.


@nb.njit(nogil=True, cache=True)
def _process(kind, size, start, count, marks, rows, owners, ordinals, clock, slot):
    out = np.empty((4, 64), np.int64)  # triggers, groups, ends, window_rows
    firings = (0, out, np.zeros(65, np.int64), np.empty(256, np.int64), np.empty(64, np.int64), slot)
    late = np.empty(count, np.int64)
    lates, mark = 0, 0
    for i in range(count + 1):
        while mark < marks.shape[0] and marks[mark] == i:
            if kind[0] == PUNCTUATION:
                firings = _pass_mark(kind, size, mark, rows, owners, clock, firings)
            mark += 1
        if i == count:
            break
        if kind[0] == TIME:
            is_late, firings = _arrive_in_time(kind[3], size, start + i, i, rows, owners, clock, firings)
            if is_late:
                late[lates] = i
                lates += 1
        else:
            firings = _arrive(kind, size, start + i, i, rows, owners, ordinals, clock, firings)
    outputs, out, offsets, members, _, _ = firings
    return (out[0, :outputs].copy(), out[1, :outputs].copy(), out[2, :outputs].copy(), out[3, :outputs].copy(),
            offsets[: outputs + 1].copy(), members[: offsets[outputs]].copy(), late[:lates].copy())  # fmt: skip


@nb.njit(nogil=True, cache=True)
def _flush(kind, size, full, rows, owners, clock, slot):
    """Fires what the owners hold; the trigger is no row."""
    out = np.empty((4, 64), np.int64)
    firings = (0, out, np.zeros(65, np.int64), np.empty(256, np.int64), np.empty(64, np.int64), slot)
    every = kind[3]
    for owner in full:
        if kind[0] == TIME:
            end = (clock[0] // every) * every + every
            while owners[0][owner] != _NONE:
                firings = _fire(owner, 0, end, end - size, np.float64(end), rows, owners, firings)
                _drop_below(owner, end + every - size, rows, owners)
                end += every
        elif kind[1]:
            firings = _fire(owner, 0, 0, -np.inf, np.inf, rows, owners, firings)
            _clear(owner, owners)
    outputs, out, offsets, members, _, _ = firings
    return (out[0, :outputs].copy(), out[1, :outputs].copy(), out[2, :outputs].copy(), out[3, :outputs].copy(),
            offsets[: outputs + 1].copy(), members[: offsets[outputs]].copy(), np.empty(0, np.int64))  # fmt: skip


@nb.njit(nogil=True, cache=True)
def _pass_mark(kind, size, mark, rows, owners, clock, firings):
    """A punctuation: ends a segment, whose number its rows carry as their value."""
    clock[1] += 1
    if clock[1] % kind[3] == 0:
        firings = _fire(0, mark, 0, -np.inf, np.inf, rows, owners, firings)
    if kind[1]:
        _clear(0, owners)
    else:
        _drop_below(0, clock[1] - size + 1, rows, owners)
    return firings


@nb.njit(nogil=True, cache=True)
def _arrive_in_time(every, size, row, i, rows, owners, clock, firings):
    """A row of a time window: late, or it moves the clock, which fires windows, and then enters."""
    event = np.int64(rows[2][row])
    if clock[0] != _NEVER:
        if event < (clock[0] // every) * every:
            return True, firings
        end = (clock[0] // every) * every + every
        while end <= event and owners[0][0] != _NONE:
            firings = _fire(0, i, end, end - size, np.float64(end), rows, owners, firings)
            _drop_below(0, end + every - size, rows, owners)
            end += every
    clock[0] = max(clock[0], event)
    _push(0, row, rows, owners)
    return False, firings


@nb.njit(nogil=True, cache=True)
def _arrive(kind, size, row, i, rows, owners, ordinals, clock, firings):
    """A row of any other window."""
    measure, tumbling, value = kind[0], kind[1], rows[2]
    owner = rows[1][row] if kind[2] and measure != PUNCTUATION else 0
    head = owners[0][owner]
    if measure == DELTA and tumbling and head != _NONE and abs(value[row] - value[head]) > size:
        firings = _fire(owner, i, 0, -np.inf, np.inf, rows, owners, firings)
        _clear(owner, owners)
    if measure == PUNCTUATION:
        value[row] = clock[1]
    _push(owner, row, rows, owners)
    ordinals[owner] += 1
    fires = measure != PUNCTUATION and ordinals[owner] % kind[3] == 0
    if measure == COUNT:
        if owners[2][owner] > size:
            _pop(owner, rows, owners)
        fires = owners[2][owner] == size if tumbling else fires
    elif measure == DELTA and not tumbling:
        _drop_far(owner, value[row], size, rows, owners)
    if fires and not (measure == DELTA and tumbling):
        firings = _fire(owner, i, 0, -np.inf, np.inf, rows, owners, firings)
        if tumbling:
            _clear(owner, owners)
    return firings


@nb.njit(nogil=True, cache=True)
def _fire(owner, trigger, end, low, high, rows, owners, firings):
    """Appends one output per group among the owner's rows with low <= value < high, groups by first appearance."""
    first, out, offsets, members, scratch, slot = firings
    following, group, value = rows
    outputs, taken = first, 0
    if scratch.shape[0] < owners[2][owner]:
        scratch = np.empty(2 * owners[2][owner], np.int64)
    row = owners[0][owner]
    while row != _NONE:
        if (low == -np.inf and high == np.inf) or (value[row] >= low and value[row] < high):
            scratch[taken] = row
            taken += 1
            place = slot[group[row]]
            if place == _NONE:
                if outputs == out.shape[1]:
                    out = _wider(out)
                    offsets = _longer(offsets, 2 * offsets.shape[0])
                place = outputs
                slot[group[row]] = place
                out[0, place], out[1, place], out[2, place] = trigger, group[row], end
                offsets[place + 1] = 0
                outputs += 1
            offsets[place + 1] += 1
        row = following[row]
    if members.shape[0] < offsets[first] + taken:
        members = _longer(members, 2 * (offsets[first] + taken))
    out[3, first:outputs] = taken
    _spell_out(first, outputs, taken, group, scratch, slot, offsets, members)
    return outputs, out, offsets, members, scratch, slot


@nb.njit(nogil=True, cache=True)
def _spell_out(first, outputs, taken, group, scratch, slot, offsets, members):
    """Puts the taken rows behind each other by output; `offsets[place + 1]` comes as a count and goes as an end."""
    begin = offsets[first]
    for place in range(first, outputs):
        offsets[place + 1] += offsets[place]
    for k in range(taken - 1, -1, -1):  # from the back, so that a group's end moves down to its start
        place = slot[group[scratch[k]]]
        offsets[place + 1] -= 1
        members[offsets[place + 1]] = scratch[k]
    for k in range(taken):
        slot[group[scratch[k]]] = _NONE
    for place in range(first, outputs):  # starts become ends again
        offsets[place] = offsets[place + 1]
    offsets[outputs] = begin + taken


@nb.njit(nogil=True, cache=True)
def _push(owner, row, rows, owners):
    following, (heads, tails, held) = rows[0], owners
    following[row] = _NONE
    if heads[owner] == _NONE:
        heads[owner] = row
    else:
        following[tails[owner]] = row
    tails[owner] = row
    held[owner] += 1


@nb.njit(nogil=True, cache=True)
def _pop(owner, rows, owners):
    heads, tails, held = owners
    heads[owner] = rows[0][heads[owner]]
    if heads[owner] == _NONE:
        tails[owner] = _NONE
    held[owner] -= 1


@nb.njit(nogil=True, cache=True)
def _clear(owner, owners):
    heads, tails, held = owners
    heads[owner] = tails[owner] = _NONE
    held[owner] = 0


@nb.njit(nogil=True, cache=True)
def _drop_below(owner, low, rows, owners):
    """Lets go of the rows whose value is below `low`, wherever they stand."""
    following, _, value = rows
    heads, tails, held = owners
    row, previous = heads[owner], _NONE
    while row != _NONE:
        if value[row] >= low:
            previous = row
        else:
            _unlink(owner, row, previous, following, heads, held)
        row = following[row]
    tails[owner] = previous


@nb.njit(nogil=True, cache=True)
def _drop_far(owner, newest, size, rows, owners):
    """Lets go of the rows whose value is further than `size` from the newest, wherever they stand."""
    following, _, value = rows
    heads, tails, held = owners
    row, previous = heads[owner], _NONE
    while row != _NONE:
        if abs(newest - value[row]) <= size:
            previous = row
        else:
            _unlink(owner, row, previous, following, heads, held)
        row = following[row]
    tails[owner] = previous


@nb.njit(nogil=True, cache=True)
def _unlink(owner, row, previous, following, heads, held):
    if previous == _NONE:
        heads[owner] = following[row]
    else:
        following[previous] = following[row]
    held[owner] -= 1


@nb.njit(nogil=True, cache=True)
def _longer(array, length):
    grown = np.empty(length, np.int64)
    grown[: array.shape[0]] = array
    return grown


@nb.njit(nogil=True, cache=True)
def _wider(array):
    grown = np.empty((array.shape[0], 2 * array.shape[1]), np.int64)
    grown[:, : array.shape[1]] = array
    return grown
