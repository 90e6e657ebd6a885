"""Windows that hold rows: every kind of window, with the rows of each firing spelt out.

Serves what running aggregates cannot (collect, distinct counts, strings, users' functions) and the windows that have no kernel
of their own (delta, punctuation, groups inside a whole-stream window).  Work is one step per arriving row plus one per row
of each firing.  Rows are numbers into a store that the caller keeps: retained rows, then the new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

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
        state = (self.next, self.group, self.value, self.heads, self.tails, self.held, self.ordinals, self.clock)
        return Firings(*_process(self.kind, self.size, start, len(groups), marks, self.slot, *state))

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
def _live(heads, following, rows):  # type: ignore[no-untyped-def]
    found = np.empty(rows, np.int64)
    n = 0
    for owner in range(heads.shape[0]):
        row = heads[owner]
        while row != _NONE:
            found[n] = row
            n += 1
            row = following[row]
    return found


@nb.njit(nogil=True, cache=True)
def _process(kind, size, start, rows, marks, slot, following, group, value, heads, tails, held, ordinals, clock):  # type: ignore[no-untyped-def]
    measure, tumbling, per_group, every = kind[0], kind[1], kind[2], kind[3]
    out = np.empty((4, 64), np.int64)  # triggers, groups, ends, window_rows
    offsets = np.zeros(65, np.int64)
    members = np.empty(256, np.int64)
    late = np.empty(rows, np.int64)
    scratch = np.empty(64, np.int64)
    outputs, lates, mark = 0, 0, 0
    for i in range(rows + 1):
        while mark < marks.shape[0] and marks[mark] == i:
            if measure == PUNCTUATION:
                clock[1] += 1
                if clock[1] % every == 0:
                    outputs, out, offsets, members, scratch = _fire(
                        0, mark, 0, -np.inf, np.inf, following, group, value, heads, held,
                        slot, outputs, out, offsets, members, scratch)  # fmt: skip
                if tumbling:
                    _clear(0, heads, tails, held)
                else:  # rows carry the number of their segment as value
                    _drop_below(0, clock[1] - size + 1, following, value, heads, tails, held)
            mark += 1
        if i == rows:
            break
        row = start + i
        owner = group[row] if per_group else 0
        if measure == TIME:
            event = np.int64(value[row])
            if clock[0] != _NEVER and event < (clock[0] // every) * every:
                late[lates] = i
                lates += 1
                continue
            if clock[0] != _NEVER and event // every > clock[0] // every:
                end = (clock[0] // every) * every + every
                while end <= event and heads[0] != _NONE:
                    outputs, out, offsets, members, scratch = _fire(
                        0, i, end, end - size, np.float64(end), following, group, value, heads, held,
                        slot, outputs, out, offsets, members, scratch)  # fmt: skip
                    _drop_below(0, end + every - size, following, value, heads, tails, held)
                    end += every
            clock[0] = max(clock[0], event)
            _push(0, row, following, heads, tails, held)
            continue
        if measure == DELTA and tumbling and heads[owner] != _NONE and abs(value[row] - value[heads[owner]]) > size:
            outputs, out, offsets, members, scratch = _fire(
                owner, i, 0, -np.inf, np.inf, following, group, value, heads, held,
                slot, outputs, out, offsets, members, scratch)  # fmt: skip
            _clear(owner, heads, tails, held)
        if measure == PUNCTUATION:
            value[row] = clock[1]
            owner = 0
        _push(owner, row, following, heads, tails, held)
        ordinals[owner] += 1
        fires = False
        if measure == COUNT:
            if held[owner] > size:
                _pop(owner, following, heads, tails, held)
            fires = held[owner] == size if tumbling else ordinals[owner] % every == 0
        elif measure == DELTA and not tumbling:
            _drop_far(owner, value[row], size, following, value, heads, tails, held)
            fires = ordinals[owner] % every == 0
        if fires:
            outputs, out, offsets, members, scratch = _fire(
                owner, i, 0, -np.inf, np.inf, following, group, value, heads, held,
                slot, outputs, out, offsets, members, scratch)  # fmt: skip
            if tumbling:
                _clear(owner, heads, tails, held)
    return (out[0, :outputs].copy(), out[1, :outputs].copy(), out[2, :outputs].copy(), out[3, :outputs].copy(),
            offsets[: outputs + 1].copy(), members[: offsets[outputs]].copy(), late[:lates].copy())  # fmt: skip


@nb.njit(nogil=True, cache=True)
def _fire(
    owner, trigger, end, low, high, following, group, value, heads, held, slot, outputs, out, offsets, members, scratch
):  # type: ignore[no-untyped-def]
    """Appends one output per group among the owner's rows with low <= value < high, groups by first appearance."""
    first = outputs
    taken = 0
    if scratch.shape[0] < held[owner]:
        scratch = np.empty(2 * held[owner], np.int64)
    row = heads[owner]
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
    begin = offsets[first]
    if members.shape[0] < begin + taken:
        members = _longer(members, 2 * (begin + taken))
    for place in range(first, outputs):  # counts become ends, and then each group's next free place
        out[3, place] = taken
        offsets[place + 1] += offsets[place]
    for k in range(taken - 1, -1, -1):  # from the back, so that a group's end moves down to its start
        place = slot[group[scratch[k]]]
        offsets[place + 1] -= 1
        members[offsets[place + 1]] = scratch[k]
    for k in range(taken):
        place = slot[group[scratch[k]]]
        if place != _NONE:
            slot[group[scratch[k]]] = _NONE
    for place in range(first, outputs):  # starts become ends again
        offsets[place] = offsets[place + 1]
    offsets[outputs] = begin + taken
    return outputs, out, offsets, members, scratch


@nb.njit(nogil=True, cache=True)
def _push(owner, row, following, heads, tails, held):  # type: ignore[no-untyped-def]
    following[row] = _NONE
    if heads[owner] == _NONE:
        heads[owner] = row
    else:
        following[tails[owner]] = row
    tails[owner] = row
    held[owner] += 1


@nb.njit(nogil=True, cache=True)
def _pop(owner, following, heads, tails, held):  # type: ignore[no-untyped-def]
    heads[owner] = following[heads[owner]]
    if heads[owner] == _NONE:
        tails[owner] = _NONE
    held[owner] -= 1


@nb.njit(nogil=True, cache=True)
def _clear(owner, heads, tails, held):  # type: ignore[no-untyped-def]
    heads[owner] = tails[owner] = _NONE
    held[owner] = 0


@nb.njit(nogil=True, cache=True)
def _drop_below(owner, low, following, value, heads, tails, held):  # type: ignore[no-untyped-def]
    """Lets go of the rows whose value is below `low`, wherever they stand."""
    row, previous = heads[owner], _NONE
    while row != _NONE:
        if value[row] < low:
            if previous == _NONE:
                heads[owner] = following[row]
            else:
                following[previous] = following[row]
            held[owner] -= 1
        else:
            previous = row
        row = following[row]
    tails[owner] = previous


@nb.njit(nogil=True, cache=True)
def _drop_far(owner, newest, size, following, value, heads, tails, held):  # type: ignore[no-untyped-def]
    """Lets go of the rows whose value is further than `size` from the newest, wherever they stand."""
    row, previous = heads[owner], _NONE
    while row != _NONE:
        if not abs(newest - value[row]) <= size:
            if previous == _NONE:
                heads[owner] = following[row]
            else:
                following[previous] = following[row]
            held[owner] -= 1
        else:
            previous = row
        row = following[row]
    tails[owner] = previous


@nb.njit(nogil=True, cache=True)
def _longer(array, length):  # type: ignore[no-untyped-def]
    grown = np.empty(length, np.int64)
    grown[: array.shape[0]] = array
    return grown


@nb.njit(nogil=True, cache=True)
def _wider(array):  # type: ignore[no-untyped-def]
    grown = np.empty((array.shape[0], 2 * array.shape[1]), np.int64)
    grown[:, : array.shape[1]] = array
    return grown
