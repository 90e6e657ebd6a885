"""The join of two streams over windows: merged tuples in, pairs of store rows with the same key out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from penstock.errors import InputError
from penstock.kernels.gather import read_only
from penstock.kernels.joins.window_join_links import LinkedWindows
from penstock.kernels.joins.window_join_loop import (
    COUNT,
    DELTA,
    DONE,
    LOOP,
    NEED_PAIRS,
    PORT,
    RING,
    SHORTEST,
    TIME,
    held_rows,
    join,
    mark_live,
    renumber_rows,
)
from penstock.kernels.snapshot import SnapshotFields

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
_MEASURES = {"count": COUNT, "time": TIME, "delta": DELTA}
_LONGEST_PIECE_LOG2 = 31
_SNAPSHOT_FIELDS = (
    "_ports",
    "_loop",
    "_rings",
    "_pool",
    "_queue",
    "_free",
    "_runs",
    "_pool_values",
    "_newest",
    "_clock",
    "_sizes",
)


@dataclass(frozen=True, slots=True)
class JoinWindow:
    """How much of one port is held: tuples (count), or units of the values (time, delta); per key with `per_group`."""

    measure: Literal["count", "time", "delta"]
    size: int | float
    per_group: bool = False


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs in order: the merged row that triggered each, and the row of the left and of the right store."""

    trigger: Ints
    left: Ints
    right: Ints


class WindowJoin(SnapshotFields):
    """Pairs each arriving tuple with those of the other port's window that have its key, oldest first.

    A tuple first enters its own window, which evicts.  A count window holds the newest tuples of its port; a time
    window those less than `size` before the highest value seen on the ports that have time windows; a delta window
    those within `size` of its port's newest value (of that key, with `per_group`) since they arrived.  A tuple that is
    too old for its own time window still meets the other's.

    The caller keeps a store of rows per port: what it retained, then each call's new rows of that port in order.

    >>> pair = WindowJoin(JoinWindow("count", 2), JoinWindow("count", 1))
    >>> pairs = pair.process(np.array([0, 0, 1, 0], np.uint8), np.array([0, 1, 0, 0], np.int32), 2, None)
    >>> pairs.trigger.tolist(), pairs.left.tolist(), pairs.right.tolist()
    ([2, 3], [0, 2], [0, 0])
    """

    def __init__(self, left: JoinWindow, right: JoinWindow) -> None:
        self._sides = (left, right)
        self._ports = np.zeros(2, PORT)
        self._loop = np.zeros(1, LOOP)
        self._rings = np.zeros(0, RING)
        self._pool = np.zeros(1_024, np.int32)
        self._queue = np.zeros((2, 1), np.int32)
        self._free = np.full(_LONGEST_PIECE_LOG2 + 1, -1, np.int32)
        self._runs = np.zeros(0, np.int64)
        self._pool_values: Array | None = None
        self._newest: Array | None = None
        self._clock: Array | None = None
        self._sizes: Array | None = None
        self._by_value = any(side.measure != "count" for side in self._sides)
        self._pair_capacity = 1_024
        for port, side in zip(self._ports, self._sides, strict=True):
            if not side.size > 0 or (side.measure == "count" and side.size != int(side.size)):
                raise InputError(f"a {side.measure} window of a join needs a positive size; got {side.size!r}")
            port["measure"] = _MEASURES[side.measure]
            port["per_group"] = side.per_group and side.measure != "time"  # time is one for all groups
            port["size"] = side.size if side.measure == "count" else 0
        of_streams = not self._by_value and not any(side.per_group for side in self._sides)
        self._links = LinkedWindows(int(left.size), int(right.size)) if of_streams else None
        self.snapshot_fields = _SNAPSHOT_FIELDS if self._links is None else ("_links",)

    @property
    def state_bytes(self) -> int:
        """Bytes reserved for what the windows hold."""
        if self._links is not None:
            return self._links.state_bytes
        arrays = (self._rings, self._pool, self._queue, self._runs, self._pool_values, self._newest)
        return sum(array.nbytes for array in arrays if array is not None)

    def store_rows(self, port: int) -> int:
        """How many rows the caller's store of a port has."""
        return int(self._ports["store"][port]) if self._links is None else self._links.store_rows(port)

    def process(
        self, ports: npt.NDArray[np.uint8], keys: npt.NDArray[np.int32], key_count: int, values: Array | None
    ) -> Pairs:
        """Takes merged tuples (port 0 is left), with the ids of their keys (below `key_count`), and gives the pairs.

        With time windows, a key of -1 is no tuple: its value only moves the clock.
        """
        if self._links is not None:
            trigger, left, right = self._links.process(ports, keys, key_count)
            return Pairs(trigger, left, right)
        if not self._by_value:
            values = None
        elif self._pool_values is None:
            self._start_values(values)
        if values is not None:
            values = read_only(values)
        self._reserve(len(keys), key_count)
        self._loop["filled"] = 0
        out = np.empty((3, self._pair_capacity), np.int64)
        row = 0
        while True:
            row = join(
                ports, keys, values, row, self._loop, self._ports, self._sizes, self._rings, self._pool,
                self._pool_values, self._queue, self._free, self._runs, self._newest, self._clock, out.reshape(-1),
            )  # fmt: skip
            status = self._loop["status"][0]
            if status == DONE:
                break
            if status == NEED_PAIRS:
                out = _wider(out, 2 * out.shape[1])
            else:
                self._grow_pool()
        filled = int(self._loop["filled"][0])
        self._pair_capacity = max(1_024, 1 << (filled + filled // 8).bit_length())  # sizes that malloc sees again
        return Pairs(out[0, :filled], out[1, :filled], out[2, :filled])

    def live(self, port: int) -> Ints:
        """The store rows that a port's window holds, ascending."""
        if self._links is not None:
            return self._links.live(port)
        live = np.zeros(self.store_rows(port), np.bool_)
        oldest = None
        if self._sides[port].measure == "time" and self._clock is not None and self._sizes is not None:
            oldest = self._clock[0] - self._sizes[port]
        mark_live(port, self._rings, self._pool, self._pool_values, oldest, live)
        return np.flatnonzero(live)

    def renumber(self, port: int, live: Ints) -> None:
        """Follows the caller, who has cut a port's store down to its live rows."""
        if self._links is not None:
            self._links.renumber(port, live)
            return
        numbers = np.zeros(self.store_rows(port), np.int32)
        numbers[live] = np.arange(len(live), dtype=np.int32)
        renumber_rows(port, self._rings, self._pool, numbers)
        self._ports["store"][port] = len(live)

    @property
    def clock(self) -> float | None:
        """The highest value of time windows so far."""
        return None if self._clock is None or not self._loop["clock_runs"][0] else float(self._clock[0])

    def held(self, port: int) -> tuple[Ints, Ints, Array]:
        """Keys, store rows and values of what a port's window holds, by store row; not for count windows alone."""
        count = int(self._rings["count"][port::2].sum()) if self._pool_values is not None else 0
        keys, rows = np.zeros(count, np.int64), np.zeros(count, np.int64)
        values = np.zeros(count, np.float64)
        if not count or self._clock is None or self._sizes is None:
            return keys, rows, values
        held_rows(port, self._rings, self._pool, self._pool_values, keys, rows, values)
        if self._sides[port].measure == "time":
            alive = values > self._clock[0] - self._sizes[port]
            keys, rows, values = keys[alive], rows[alive], values[alive]
        order = np.argsort(rows)
        return keys[order], rows[order], values[order]

    def hold(self, clock: float | None, key_count: int, sides: Sequence[tuple[Ints, Array]]) -> None:
        """A new join over time windows takes what was held: by port the keys and values of all rows of its store."""
        self._start_values(np.zeros(0))
        assert self._clock is not None
        if clock is not None:
            self._clock[0], self._loop["clock_runs"] = clock, 1
        self._reserve(max(len(keys) for keys, _ in sides), key_count)
        for port, (keys, values) in enumerate(sides):
            self._hold(port, keys, values)

    def _hold(self, port: int, keys: Ints, values: Array) -> None:
        rows = np.argsort(keys, kind="stable")
        found, starts, counts = np.unique(keys[rows], return_index=True, return_counts=True)
        lengths = np.maximum(SHORTEST, 1 << np.ceil(np.log2(np.maximum(counts, 1))).astype(np.int64))
        used = int(self._loop["pool_used"][0])
        ends = used + np.cumsum(lengths)
        while len(ends) and ends[-1] > len(self._pool):
            self._grow_pool()
        assert self._pool_values is not None
        places = np.repeat(ends - lengths - starts, counts) + np.arange(len(rows))
        self._pool[places], self._pool_values[places] = rows, values[rows]
        own = 2 * found + port
        self._rings["start"][own], self._rings["length"][own] = ends - lengths, lengths
        self._rings["count"][own] = counts
        self._loop["pool_used"] = ends[-1] if len(ends) else used
        self._ports["store"][port] = len(keys)
        if self._sides[port].measure == "time":
            self._queue[port, : len(keys)] = keys
            self._ports["queued"][port] = len(keys)

    def _start_values(self, values: Array | None) -> None:
        if values is None or values.dtype not in (np.dtype(np.int64), np.dtype(np.float64)):
            got = "none" if values is None else str(values.dtype)
            raise InputError(f"a join over time or delta windows needs int64 or float64 values; got {got}")
        sizes = [_size_in(side, values.dtype) for side in self._sides]
        self._sizes, self._clock = np.array(sizes, values.dtype), np.zeros(1, values.dtype)
        self._pool_values, self._newest = np.zeros(len(self._pool), values.dtype), np.zeros(0, values.dtype)

    def _reserve(self, rows: int, key_count: int) -> None:
        """Lets the rings have all keys and the queues `rows` more tuples."""
        if 2 * key_count > len(self._rings):
            self._rings = _wider(self._rings, max(2 * key_count, 2 * len(self._rings)))
            if self._newest is not None:
                self._runs = _wider(self._runs, len(self._rings))
                self._newest = _wider(self._newest, len(self._rings))
        needed = rows + int(self._ports["queued"].max())
        if needed > self._queue.shape[1]:
            self._grow_queue(1 << needed.bit_length())

    def _grow_queue(self, length: int) -> None:
        longer = np.zeros((2, length), np.int32)
        for port in range(2):
            head, queued = int(self._ports["queue_head"][port]), int(self._ports["queued"][port])
            places = np.arange(head, head + queued)
            longer[port, places & (length - 1)] = self._queue[port, places & (self._queue.shape[1] - 1)]
        self._queue = longer

    def _grow_pool(self) -> None:
        self._pool = _wider(self._pool, 2 * len(self._pool))
        if self._pool_values is not None:
            self._pool_values = _wider(self._pool_values, len(self._pool))


def _size_in(side: JoinWindow, type_: np.dtype[Any]) -> int | float:
    """A window's size such that comparisons between values of a type come out right."""
    if type_.kind == "f":
        return float(side.size)
    return math.ceil(side.size) if side.measure == "time" else math.floor(side.size)


def _wider(array: Array, length: int) -> Array:
    longer = np.zeros((*array.shape[:-1], length), array.dtype)
    longer[..., : array.shape[-1]] = array
    return longer
