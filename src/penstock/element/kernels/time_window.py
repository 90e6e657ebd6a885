"""Aggregates over time windows: a block of tuples in, the windows that their event times closed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.element.column import FixedColumn
from penstock.element.kernels.aggregates import KEEPS_TYPE, AggregateCall, check_calls, result_type
from penstock.element.kernels.generated import load
from penstock.element.kernels.time_window_source import COUNTERS, entry_type, kernel_source, output_type
from penstock.errors import InputError

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

_PANE, _PANE_END, _HEAD, _TAIL = (COUNTERS.index(name) for name in ("pane", "pane_end", "head", "tail"))
_PANE_HEAD, _PANE_TAIL, _HELD = (COUNTERS.index(name) for name in ("pane_head", "pane_tail", "held"))
_FILLED, _LATE = COUNTERS.index("filled"), COUNTERS.index("late")
_ROWS_A_CALL = 32_768  # bounds the room for new entries that one call of the kernel needs
_FIRST = 1  # entry 0 stands for none
_BEFORE_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class TimeFired:
    """Outputs in order: the input row that triggered each, its group, its window's end, its aggregates; and late rows."""

    rows: Ints
    groups: npt.NDArray[np.int32]
    ends_us: Ints
    columns: tuple[FixedColumn, ...]
    late: Ints


class TimeWindow:
    """One aggregation over windows [end - size, end), with ends at the multiples of `every_us` since the epoch.

    The clock is the highest event time seen.  A tuple first moves it, which fires the windows that end at or before it
    and hold anything: ends ascending, within one the groups by their oldest-arrived tuple.  A tuple older than the
    clock's pane of `every_us` is late: it counts nowhere.  Nulls are ignored.

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
        self._every_us, self._panes_held = every_us, size_us // every_us
        self._process = load(kernel_source(aggregates, types, tumbling=self._panes_held == 1)).process
        self._columns_read = sorted({call.argument for call in aggregates if call.argument is not None})
        self._states = np.zeros(1, [(name, np.int64) for name in COUNTERS])
        self._counters: Ints = self._states.view(np.int64)
        self._entries = np.zeros(0, entry_type(aggregates, types))
        self._out = np.zeros(1_024, output_type(aggregates, types))
        self._late: Ints = np.zeros(0, np.int64)
        self._slots, self._prefix = np.zeros(0, np.uint32), self._entries
        self._panes = np.zeros((0, 2), np.int64)
        self._marks = self._above = np.zeros(0, np.uint64)
        for name, value in (("pane", _BEFORE_TIME), ("pane_end", _BEFORE_TIME), ("head", _FIRST), ("tail", _FIRST)):
            self._states[name] = value
        self._states["open_first"] = self._states["block_first"] = _FIRST
        self._nothing: TimeFired | None = None

    @property
    def state_bytes(self) -> int:
        """Bytes reserved for what the open windows hold."""
        arrays = (self._entries, self._slots, self._prefix, self._panes, self._marks, self._above)
        return sum(array.nbytes for array in arrays)

    def process(
        self, groups: npt.NDArray[np.int32], group_count: int, event_us: Ints, columns: Sequence[FixedColumn]
    ) -> TimeFired:
        """Takes a block of tuples, with the ids of their groups (below `group_count`), and gives what fired."""
        rows = len(event_us)
        if group_count > len(self._slots):
            self._grow_groups(group_count)
        if rows > len(self._late):
            self._late = np.zeros(rows, np.int64)
        self._counters[_FILLED] = self._counters[_LATE] = 0
        block = (groups.view(np.uint32), _sealed(event_us))
        values = self._arguments(columns, rows)
        row = 0
        while row < rows:
            stop = min(rows, row + _ROWS_A_CALL)
            self._make_room(stop - row)
            row = self._run(block, row, stop, values)
        return self._fired(columns)

    def export(self) -> dict[str, Array]:
        """The state as plain arrays, which `restore` takes."""
        head, tail = self._counters[_HEAD], self._counters[_TAIL]
        panes = self._panes[self._counters[_PANE_HEAD] : self._counters[_PANE_TAIL]]
        arrays = {"counters": self._counters.copy(), "panes": panes.copy()}
        arrays |= _fields("entry", self._entries[head:tail])
        return arrays | _fields("prefix", self._prefix if self._panes_held > 1 else self._prefix[:0])

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Takes the place of a window of the same shape that was exported."""
        self._counters[:] = arrays["counters"]
        prefix = len(arrays["prefix.rows"])
        self._grow_groups(max(prefix, int(arrays["entry.group"].max(initial=0)) + 1))
        for name in self._entries.dtype.names or ():
            self._prefix[name][:prefix] = arrays[f"prefix.{name}"]
        live = np.zeros(len(arrays["entry.rows"]), self._entries.dtype)
        for name in self._entries.dtype.names or ():
            live[name] = arrays[f"entry.{name}"]
        self._lay_out(live, arrays["panes"], 0)

    def _run(self, block: tuple[Array, Ints], row: int, stop: int, values: list[Array | None]) -> int:
        """Runs the kernel, again after each time that the outputs filled their room."""
        while True:
            row = self._process(
                self._states, self._entries, self._slots, self._prefix, self._marks, self._above, self._panes,
                self._out, self._late, *block, row, stop, self._every_us, self._panes_held, *values,
            )  # fmt: skip
            if row == stop:
                return row
            held = self._counters[_HELD] if self._panes_held > 1 else self._counters[_TAIL] - self._counters[_HEAD]
            filled = int(self._counters[_FILLED])
            self._out = _grown(self._out[:filled], 2 * (filled + int(held)))

    def _arguments(self, columns: Sequence[FixedColumn], rows: int) -> list[Array | None]:
        """Values and validity of the columns that are read: all masks or none, so that there are but two kernels."""
        arguments: list[Array | None] = []
        masked = any(columns[place].valid is not None for place in self._columns_read)
        for place in self._columns_read:
            column = columns[place]
            arguments.append(_sealed(column.values))
            arguments.append((np.ones(rows, np.bool_) if column.valid is None else column.valid) if masked else None)
        return arguments

    def _fired(self, columns: Sequence[FixedColumn]) -> TimeFired:
        filled, late = int(self._counters[_FILLED]), int(self._counters[_LATE])
        if filled == late == 0 and self._nothing is not None:
            return self._nothing
        out = self._out[:filled]
        results = tuple(self._result(place, out, columns) for place in range(len(self._calls)))
        fired = TimeFired(out["row"].copy(), out["group"].copy(), out["end"].copy(), results, self._late[:late].copy())
        if filled == late == 0:
            self._nothing = fired
        return fired

    def _result(self, place: int, out: Array, columns: Sequence[FixedColumn]) -> FixedColumn:
        call = self._calls[place]
        valid = None if call.function == "count" else out[f"valid{place}"].copy()
        type_ = pa.from_numpy_dtype(result_type(call, self._types))
        if call.argument is not None and call.function in KEEPS_TYPE:
            type_ = columns[call.argument].type
        return FixedColumn(out[f"value{place}"].copy(), type_, None if valid is None or valid.all() else valid)

    def _grow_groups(self, group_count: int) -> None:
        room = max(group_count, 2 * len(self._slots))
        self._slots = _grown(self._slots, room)
        if self._panes_held > 1:
            self._prefix = _grown(self._prefix, room)

    def _make_room(self, rows: int) -> None:
        """Lets the log take `rows` more entries: moves what is held to its beginning, in a longer log where needed."""
        head, tail = self._counters[_HEAD], self._counters[_TAIL]
        if tail + rows <= len(self._entries):
            return
        panes = self._panes[self._counters[_PANE_HEAD] : self._counters[_PANE_TAIL]]
        self._lay_out(self._entries[head:tail].copy(), panes.copy(), rows)

    def _lay_out(self, live: Array, panes: Ints, rows: int) -> None:
        """Puts entries at the beginning of a log with room for `rows` more, and all that points to them likewise."""
        shift = int(self._counters[_HEAD]) - _FIRST
        needed = 2 * (len(live) + rows + len(self._slots)) + _FIRST  # twice, so that moving costs O(1) an entry
        stop = _FIRST + len(live)
        if needed > len(self._entries):
            self._entries = np.zeros(1 << needed.bit_length(), self._entries.dtype)
            self._panes = np.zeros((len(self._entries) if self._panes_held > 1 else 0, 2), np.int64)
        live["next"] -= np.where(live["next"] > 0, shift, 0).astype(np.uint32)
        self._entries[_FIRST:stop] = live
        self._slots[:] = 0
        self._slots[live["group"]] = np.arange(_FIRST, stop)  # a group's last entry counts
        for name in ("head", "tail", "open_first", "block_first"):
            self._states[name] = np.maximum(self._states[name] - shift, 0)
        if self._panes_held > 1:
            self._panes[: len(panes), 0], self._panes[: len(panes), 1] = panes[:, 0], panes[:, 1] - shift
            self._counters[_PANE_HEAD], self._counters[_PANE_TAIL] = 0, len(panes)
            self._mark_oldest(live)

    def _mark_oldest(self, live: Array) -> None:
        """Marks the entries that no other leads to."""
        words = -(-len(self._entries) // 4096) * 64
        bits = np.zeros(words * 64, np.uint8)
        bits[_FIRST : _FIRST + len(live)] = 1
        bits[live["next"]] = 0
        self._marks = np.packbits(bits, bitorder="little").view(np.uint64)
        self._above = np.packbits(self._marks != 0, bitorder="little").view(np.uint64)


def _sealed(values: Array) -> Array:
    """A read-only view, as Arrow's memory gives it, so that numba compiles for that kind of array alone."""
    if values.flags.writeable:
        values = values.view()
        values.flags.writeable = False
    return values


def _grown(array: Array, room: int) -> Array:
    longer = np.zeros(room, array.dtype)
    longer[: len(array)] = array
    return longer


def _fields(prefix: str, records: Array) -> dict[str, Array]:
    return {f"{prefix}.{name}": records[name].copy() for name in records.dtype.names or ()}
