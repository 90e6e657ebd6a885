"""Aggregates over time windows: a block of tuples in, the windows that their event times closed out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.block.column import FixedColumn
from penstock.errors import InputError
from penstock.kernels.codegen.generated import load
from penstock.kernels.gather import read_only
from penstock.kernels.windows.aggregates import KEEPS_TYPE, AggregateCall, check_calls, result_type
from penstock.kernels.windows.time.source import COUNTERS, entry_type, kernel_source, result_arrays

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

_HEAD, _TAIL, _HELD = (COUNTERS.index(name) for name in ("head", "tail", "held"))
_PANE_HEAD, _PANE_TAIL = (COUNTERS.index(name) for name in ("pane_head", "pane_tail"))
_FILLED, _LATE = COUNTERS.index("filled"), COUNTERS.index("late")
_ROWS_A_CALL = 32_768  # bounds the room for new entries that one call of the kernel needs
_FIRST_PLACE = 1  # a slot of 0 means none
_GAP = 64  # one word of marks between the end of the log's ring and its beginning
_SMALLEST_RING = 4_096  # one word above the marks


@dataclass(frozen=True, slots=True)
class TimeFired:
    """Outputs in order: the input row that triggered each, its group, its window's end, its aggregates; late rows."""

    rows: Ints
    groups: npt.NDArray[np.int32]
    ends_us: Ints
    columns: tuple[FixedColumn, ...]
    late: Ints


class TimeWindow:
    """One aggregation over windows [end - size, end), with ends at the multiples of `every_us` since the epoch.

    The clock is the highest event time seen.  A tuple first moves it, which fires the windows that end at or before it
    and hold anything: ends ascending, within one the groups by their oldest-arrived tuple.  A tuple older than the
    clock's pane of `every_us` is late: it counts nowhere.  Nulls are ignored, but for `first` and `last`.

    >>> window = TimeWindow(2, 1, (AggregateCall("sum", 0),), (np.dtype(np.float64),))
    >>> amounts = FixedColumn(np.array([1.0, 2.0, 4.0]), pa.float64())
    >>> fired = window.process(np.zeros(3, np.int32), 1, np.array([0, 1, 5]), [amounts])
    >>> fired.ends_us.tolist(), fired.columns[0].values.tolist(), fired.rows.tolist()
    ([1, 2, 3], [1.0, 3.0, 2.0], [1, 2, 2])
    """

    def __init__(
        self, size_us: int, every_us: int, aggregates: tuple[AggregateCall, ...], types: tuple[np.dtype[Any], ...]
    ) -> None:
        if every_us < 1 or size_us < every_us or size_us % every_us:
            raise InputError(f"a time window's size must be a multiple of its step; got {size_us} and {every_us} us")
        check_calls(aggregates, types)
        self._calls, self._types = aggregates, types
        self._every_us, self._span = every_us, size_us // every_us
        module = load(kernel_source(aggregates, types, tumbling=self._span == 1))
        self._process, self._absorb = module.process, module.absorb
        self._columns_read = sorted({call.argument for call in aggregates if call.argument is not None})
        self._states = np.zeros(1, [(name, np.int64) for name in COUNTERS])
        self._counters: Ints = self._states.view(np.int64)
        for name in ("head", "tail", "open_first", "block_first"):
            self._states[name] = _FIRST_PLACE
        self._states["pane_start"] = np.iinfo(np.int64).min
        self._entries = self._prefix = np.zeros(0, entry_type(aggregates, types))
        self._group_count = 0  # the most groups ever told of
        self._slots, self._late = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._panes = np.zeros((1, 2), np.int64)
        self._marks = self._above = np.zeros(0, np.uint64)
        results = [np.zeros(1_024, type_) for _, type_ in result_arrays(aggregates, types)]
        self._out: list[Array] = [
            np.zeros(1_024, np.int64),
            np.zeros(1_024, np.int64),
            np.zeros(1_024, np.int32),
            *results,
        ]
        self._free_rows = 0  # how many more tuples the log can take for certain
        self._nothing: TimeFired | None = None

    @property
    def state_bytes(self) -> int:
        """Bytes reserved for what the open windows hold."""
        arrays = (self._entries, self._slots, self._prefix, self._panes, self._marks, self._above)
        return sum(array.nbytes for array in arrays)

    @property
    def clock(self) -> tuple[int, ...]:
        """Whether the clock runs, its pane, and when that began."""
        return tuple(self._states[name].item(0) for name in ("started", "pane", "pane_start"))

    @property
    def shape(self) -> tuple[tuple[AggregateCall, ...], tuple[np.dtype[Any], ...]]:
        """Its aggregates, and the types of its columns."""
        return self._calls, self._types

    @property
    def fields(self) -> dict[str, np.dtype[Any]]:
        """What an entry has of its tuples, by name."""
        type_ = self._entries.dtype
        return {name: type_[name] for name in type_.names or () if name not in ("group", "ahead")}

    def firsts(self, calls: int) -> tuple[str, ...]:
        """The fields of entries that hold what the last so many calls, all `first`, ask for."""
        return tuple(f"first{call.argument}" for call in self._calls[len(self._calls) - calls :])

    def process(
        self, groups: npt.NDArray[np.int32], group_count: int, event_us: Ints, columns: Sequence[FixedColumn]
    ) -> TimeFired:
        """Takes a block of tuples, with the ids of their groups (below `group_count`), and gives what fired."""
        rows = len(event_us)
        if group_count > self._group_count:
            self._grow_groups(group_count)
        if rows > len(self._late):
            self._late = np.zeros(rows, np.int64)
        counters = self._counters
        counters[_FILLED] = counters[_LATE] = 0
        groups, event_us = groups.view(np.uint32), read_only(event_us)
        values = self._arguments(columns, rows)
        for row in range(0, rows, _ROWS_A_CALL):
            stop = min(rows, row + _ROWS_A_CALL)
            self._free_rows -= stop - row
            if self._free_rows < 0:
                self._reserve(stop - row)
            self._run(groups, event_us, row, stop, values)
        return self._fired(columns)

    def absorb(self, groups: npt.NDArray[np.int32], group_count: int, partials: Mapping[str, Array]) -> None:
        """Takes what other windows of this shape made of tuples of the clock's pane, as fields of their entries."""
        rows = len(groups)
        if group_count > self._group_count:
            self._grow_groups(group_count)
        self._free_rows -= rows
        if self._free_rows < 0:
            self._reserve(rows)
        records = np.zeros(rows, self._entries.dtype)
        for name, array in partials.items():
            records[name] = array
        self._absorb(
            self._states, self._entries, self._slots, self._marks, self._above, self._panes,
            groups.view(np.uint32), records,
        )  # fmt: skip

    def export(self) -> dict[str, Array]:
        """The state as plain arrays, which `restore` takes."""
        arrays = {"counters": self._counters.copy(), "panes": self._live_panes()}
        arrays |= _fields("entry", self._live_entries())
        return arrays | _fields("prefix", self._prefix)

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Takes the place of a window of the same shape that was exported."""
        self._counters[:] = arrays["counters"]
        live, prefix = _records("entry", arrays, self._entries.dtype), _records("prefix", arrays, self._entries.dtype)
        group_count = max(len(prefix), int(live["group"].max(initial=0)) + 1)
        self._slots, self._prefix, self._group_count = np.zeros(group_count, np.int64), prefix, group_count
        self._slots[live["group"]] = self._counters[_HEAD] + np.arange(len(live))  # a group's last entry counts
        self._lay_out_entries(live, 0)
        self._lay_out_panes(arrays["panes"], 0)
        self._free_rows = 0

    def _run(self, groups: Array, event_us: Ints, row: int, stop: int, values: list[Array | None]) -> None:
        """Runs the kernel, again after each time that the outputs filled their room."""
        while True:
            row = self._process(
                self._states, self._entries, self._slots, self._prefix, self._marks, self._above, self._panes,
                self._late, groups, self._group_count, event_us, row, stop, self._every_us, self._span,
                *self._out, *values,
            )  # fmt: skip
            if row == stop:
                return
            capacity = 2 * int(self._counters[_FILLED] + self._counters[_HELD])
            self._out = [_grown(array, capacity) for array in self._out]

    def _arguments(self, columns: Sequence[FixedColumn], rows: int) -> list[Array | None]:
        """Values and validity of the columns that are read: all masks or none, so that there are but two kernels."""
        arguments: list[Array | None] = []
        masked = False
        for place in self._columns_read:
            values, valid = columns[place].values, columns[place].valid
            arguments += (read_only(values), valid)
            masked |= valid is not None
        return [np.ones(rows, np.bool_) if array is None else array for array in arguments] if masked else arguments

    def _fired(self, columns: Sequence[FixedColumn]) -> TimeFired:
        filled, late = self._counters.item(_FILLED), self._counters.item(_LATE)
        if filled == late == 0 and self._nothing is not None:
            return self._nothing
        rows, ends_us, groups, *results = (array[:filled].copy() for array in self._out)
        fired = TimeFired(rows, groups, ends_us, self._columns(results, columns), self._late[:late].copy())
        if filled == late == 0:
            self._nothing = fired
        return fired

    def _columns(self, results: Sequence[Array], columns: Sequence[FixedColumn]) -> tuple[FixedColumn, ...]:
        arrays, made = iter(results), []
        for call in self._calls:
            values = next(arrays)
            known = None if call.function == "count" else next(arrays)
            type_ = pa.from_numpy_dtype(result_type(call, self._types))
            if call.argument is not None and call.function in KEEPS_TYPE:
                type_ = columns[call.argument].type
            made.append(FixedColumn(values, type_, None if known is None or known.all() else known))
        return tuple(made)

    def _grow_groups(self, group_count: int) -> None:
        self._group_count = group_count
        if group_count <= len(self._slots):
            return
        capacity = max(group_count, 2 * len(self._slots))
        self._slots = _grown(self._slots, capacity)
        if self._span > 1:
            self._prefix = _grown(self._prefix, capacity)
        self._free_rows = 0

    def _reserve(self, rows: int) -> None:
        """Lets the log take the entries and panes that `rows` more tuples can make, and finds how many more it can."""
        head, tail, pane_head, pane_tail = self._counters[[_HEAD, _TAIL, _PANE_HEAD, _PANE_TAIL]].tolist()
        if self._span == 1:  # a group has one entry at most
            self._lay_out_entries(self._live_entries(), len(self._slots) - (tail - head))
            self._free_rows = sys.maxsize
            return
        if tail - head + rows + _GAP > len(self._entries):
            self._lay_out_entries(self._live_entries(), rows)
        if min(pane_tail - pane_head + rows, self._span) > len(self._panes):
            self._lay_out_panes(self._live_panes(), rows)
        capacity = len(self._entries) - _GAP - (tail - head)
        if len(self._panes) < self._span:
            capacity = min(capacity, len(self._panes) - (pane_tail - pane_head))
        self._free_rows = capacity - rows

    def _live_entries(self) -> Array:
        return _unrolled(self._entries, self._counters.item(_HEAD), self._counters.item(_TAIL))

    def _live_panes(self) -> Ints:
        return _unrolled(self._panes, self._counters.item(_PANE_HEAD), self._counters.item(_PANE_TAIL))

    def _lay_out_entries(self, live: Array, rows: int) -> None:
        """Puts the log's entries into a ring with room for `rows` more; their places stay."""
        ring, head = _power_of_two(max(_SMALLEST_RING, len(live) + rows + _GAP)), self._counters.item(_HEAD)
        self._entries = _rolled(live, head, ring)
        if self._span > 1:
            oldest = np.ones(len(live), np.bool_)
            oldest[(np.arange(len(live)) + live["ahead"])[live["ahead"] > 0]] = False
            self._marks = np.packbits(_rolled(oldest, head, ring), bitorder="little").view(np.uint64)
            self._above = np.packbits(self._marks != 0, bitorder="little").view(np.uint64)

    def _lay_out_panes(self, live: Ints, rows: int) -> None:
        ring = _power_of_two(min(max(_SMALLEST_RING, 2 * (len(live) + rows)), self._span))
        self._panes = _rolled(live, self._counters.item(_PANE_HEAD), ring)


def _grown(array: Array, capacity: int) -> Array:
    longer = np.zeros(capacity, array.dtype)
    longer[: len(array)] = array
    return longer


def _unrolled(ring: Array, first: int, stop: int) -> Array:
    """What a ring, whose length is a power of two, has between two places."""
    start = first & (len(ring) - 1)
    end = start + stop - first
    return np.concatenate([ring[start:end], ring[: max(0, end - len(ring))]])


def _rolled(live: Array, first: int, length: int) -> Array:
    """The inverse: a ring that has `live` from a place on."""
    ring = np.zeros((length, *live.shape[1:]), live.dtype)
    start = first & (length - 1)
    cut = min(len(live), length - start)
    ring[start : start + cut], ring[: len(live) - cut] = live[:cut], live[cut:]
    return ring


def _power_of_two(least: int) -> int:
    return 1 << max(0, int(least) - 1).bit_length()


def _fields(prefix: str, records: Array) -> dict[str, Array]:
    return {f"{prefix}.{name}": records[name].copy() for name in records.dtype.names or ()}


def _records(prefix: str, arrays: Mapping[str, Array], type_: np.dtype[Any]) -> Array:
    records = np.zeros(len(arrays[f"{prefix}.rows"]), type_)
    for name in type_.names or ():
        records[name] = arrays[f"{prefix}.{name}"]
    return records
