"""The windows by slot of an aggregate with broadcast ticks or punctuations: running values of panes, or held rows.

Group 0 is the ticks'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from penstock.app.windows import Window
from penstock.block.column import concat
from penstock.block.plain_columns import Pieces, array_from, column_from
from penstock.block.position import Integers
from penstock.kernels.windows.time.parts import arrays_of, clock_of, entries_of, prefixes_of, records_of, window_of
from penstock.kernels.windows.time.time_window import TimeWindow
from penstock.operators.event_time.keyed_event_time import KeyedSlots, SlotState, runs_by_slot
from penstock.operators.windows.row_windows import HeldWindows


class EventTimeWindows(Protocol):
    """State by slot: the clock, the slot's keys, and what its groups hold, numbered by those keys.

    The clock of windows by punctuation is how many of these there were.
    """

    @property
    def clock(self) -> tuple[int, ...]:
        """What decides which windows have fired and which tuples are late."""
        ...

    def export_slots(self, slots: Integers) -> dict[int, SlotState]: ...

    def restore_slots(self, states: Sequence[SlotState]) -> None: ...


def make_event_time_windows(
    times: TimeWindow | None,
    held: HeldWindows | None,
    window: Window,
    slots: KeyedSlots,
    tags: tuple[np.dtype[Any], ...],
) -> EventTimeWindows:
    """The windows by slot of an aggregate whose last columns are its tuples' positions, of these types."""
    if times is not None:
        return _Panes(times, int(window.size // window.every), slots, len(tags))
    assert held is not None
    return _HeldRows(held, int(window.every), slots, len(tags))


def make_punctuated_windows(held: HeldWindows, window: Window, slots: KeyedSlots) -> EventTimeWindows:
    """The windows by slot of an aggregate by punctuation; rows are in the order of their arrival within a slot."""
    return _Segments(held, int(window.every), slots, 0)


class _Panes:
    def __init__(self, times: TimeWindow, span: int, slots: KeyedSlots, tags: int) -> None:
        self._times, self._span, self._slots = times, span, slots
        self._order = times.firsts(tags)

    @property
    def clock(self) -> tuple[int, ...]:
        return self._times.clock

    def export_slots(self, slots: Integers) -> dict[int, SlotState]:
        state = self._times.export()
        entries, clock = records_of(entries_of(state, self._span == 1)), clock_of(state)
        prefixes = records_of(prefixes_of(state))
        entries = entries[entries["group"] > 0]  # not the ticks
        by_key = self._slots.by_key()
        order, runs = runs_by_slot(by_key[entries["group"] - 1], slots)
        entries = entries[order]
        keys = np.unique(entries["group"]) - 1
        key_order, key_runs = runs_by_slot(by_key[keys], slots)
        keys = keys[key_order]
        number = np.zeros(len(by_key), np.int64)
        number[keys] = np.arange(len(keys))
        entries["group"] = number[entries["group"] - 1]
        prefixes = prefixes[keys + 1] if len(prefixes) else prefixes
        pieces = self._slots.key_pieces(keys)
        states: dict[int, SlotState] = {}
        for (slot, start, stop), (_, first, last) in zip(runs, key_runs, strict=True):
            plain = [piece.piece(first, last) for piece in pieces]
            states[slot] = {
                "clock": clock, "first": first, "keys": (last - first, plain),
                "entries": entries[start:stop].tobytes(), "prefixes": prefixes[first:last].tobytes(),
            }  # fmt: skip
        return states

    def restore_slots(self, states: Sequence[SlotState]) -> None:
        if not states:
            return
        clock = max(state["clock"] for state in states)
        ids = [self._slots.assign(plain, count) for count, plain in (state["keys"] for state in states)]
        empty = self._times.export()
        empty_entries, prefixes = records_of(entries_of(empty, self._span == 1)), records_of(prefixes_of(empty))
        found = []
        if self._span > 1:
            prefixes = np.zeros(max((int(own.max()) for own in ids if len(own)), default=-1) + 2, prefixes.dtype)
        for state, own in zip(states, ids, strict=True):
            entries = np.frombuffer(state["entries"], empty_entries.dtype).copy()
            entries["group"] = own[entries["group"] - state["first"]] + 1
            found.append(entries)
            if self._span > 1:
                prefixes[own + 1] = np.frombuffer(state["prefixes"], prefixes.dtype)
        joined = np.concatenate([empty_entries, *found])
        self._times.restore(window_of(clock, arrays_of(joined), arrays_of(prefixes), self._span, self._order))


class _HeldRows:
    place = 0  # of the clock among those of the windows

    def __init__(self, held: HeldWindows, every_us: int, slots: KeyedSlots, tags: int) -> None:
        self._held, self._every_us, self._slots, self._tags = held, every_us, slots, tags

    @property
    def clock(self) -> tuple[int, ...]:
        at = int(self._held.rows.clock[0])
        return (int(at != np.iinfo(np.int64).min), at // self._every_us)

    def export_slots(self, slots: Integers) -> dict[int, SlotState]:
        rows, by_key = self._held.rows, self._slots.by_key()
        live = rows.live()
        live = live[rows.group[live] > 0]  # not the ticks
        order, runs = runs_by_slot(by_key[rows.group[live] - 1], slots)
        live = live[order]
        keys = rows.group[live] - 1
        key_pieces = self._slots.key_pieces(keys)
        columns = [Pieces(column.take(live)) for column in self._held.columns or ()]
        values = rows.value[live]
        states: dict[int, SlotState] = {}
        for slot, start, stop in runs:
            states[slot] = {
                "clock": int(rows.clock[self.place]),
                "keys": (stop - start, [piece.piece(start, stop) for piece in key_pieces]),
                "values": values[start:stop].tobytes(),
                "columns": [piece.piece(start, stop) for piece in columns],
                "types": [column.type for column in self._held.columns or ()],
            }
        return states

    def restore_slots(self, states: Sequence[SlotState]) -> None:
        rows = self._held.rows
        clock = rows.clock[self.place]
        rows.clock[self.place] = max((state["clock"] for state in states), default=clock)
        full = [state for state in states if state["keys"][0]]
        if not full:
            return
        groups = np.concatenate([self._slots.assign(plain, count) for count, plain in (s["keys"] for s in full)]) + 1
        columns = [
            concat([column_from(state["columns"][place], type_) for state in full])
            for place, type_ in enumerate(full[0]["types"])
        ]
        values = np.concatenate([array_from(state["values"], rows.value.dtype) for state in full])
        tags = [column.values for column in columns[len(columns) - self._tags :]] if self._tags else []  # type: ignore[union-attr]
        order = np.lexsort(tags[::-1]) if tags else np.arange(len(groups))
        self._held.columns = tuple(column.take(order) for column in columns)
        rows.hold(groups[order], values[order])


class _Segments(_HeldRows):
    """A tumbling window holds nothing of earlier segments, so that nobody need know how many there were."""

    place = 1

    @property
    def clock(self) -> tuple[int, ...]:
        rows = self._held.rows
        return () if rows.kind[1] else (int(rows.clock[self.place]),)
