"""Count windows whose state lives in slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.block.column import Column, FixedColumn, numpy_type
from penstock.errors import StateError
from penstock.kernels.windows.aggregates import AggregateCall
from penstock.kernels.windows.count.chunks import Owners
from penstock.kernels.windows.count.count_window import CountWindow, Fired
from penstock.kernels.windows.count.shape import Shape
from penstock.state.checkpoint.entries import Entries, Heads
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.state_before import StateBefore
from penstock.state.extents import Integers
from penstock.state.memory.header import Field
from penstock.state.memory.host_directory import HostDirectory
from penstock.state.memory.host_memory import HostMemory, RowLayout
from penstock.state.rows.key_cache import Ids
from penstock.state.rows.row_store import History, RowStore, RowTask
from penstock.state.rows.slot_copy import copy_slots, ready_slots, release_slots
from penstock.state.token import Token


class StoredCountWindow:
    """A `CountWindow` for the tasks of one worker process: open, process blocks, commit, again and again."""

    def __init__(
        self,
        size: int,
        every: int,
        tumbling: bool,
        aggregates: tuple[AggregateCall, ...],
        key_types: tuple[pa.DataType, ...],
        column_types: tuple[pa.DataType, ...],
        *,
        slots: int,
        host_directory: HostDirectory,
        logs: Logs,
        retained: tuple[int, ...] = (),
    ) -> None:
        types = tuple(numpy_type(type_) for type_ in column_types)
        layout = count_window_layout(size, every, tumbling, aggregates, types, slots, key_types, column_types, retained)
        self.memory = HostMemory(host_directory, layout)
        make_chunks = self.memory.pooled
        self.window = CountWindow(size, every, tumbling, aggregates, types, self.memory.table, retained, make_chunks)
        self.store = RowStore(self.memory, logs, self._replay)
        self._task: RowTask | None = None
        self._slots: Integers = np.empty(0, np.int64)

    @property
    def keys(self) -> int:
        """Keys in the slots that were held last."""
        return int(self.memory.header.fields[Field.KEYS, self._slots].sum())

    @property
    def state_bytes(self) -> int:
        """Memory of the slots that were held last, as far as it is in use."""
        pool = self.memory.pool
        granules = 0 if pool is None else int(pool.granules(self._slots).sum())
        return self.keys * self.window.row_bytes + granules * self.window.granule_bytes

    @property
    def task(self) -> RowTask:
        if self._task is None:
            raise StateError("a stored window processes blocks between `open` and `commit` or `close`")
        return self._task

    def open(self, slots: Sequence[int] | Integers, heads: Heads, history: History, token: Token) -> Integers:
        """Holds slots for a task attempt and gives those that had to be rebuilt."""
        self.close()
        self._task = self.store.open(slots, heads, history, token)
        self._slots = self._task.slots
        if self.memory.has_nulls:
            self.window.know_nulls()
        return self._task.rebuilt

    def copy(self, slots: Integers, before: StateBefore, epoch: int) -> Integers:
        """Brings slots that no task holds to a batch's state, and gives those that are so now."""
        if before.batch is None:
            return slots
        return copy_slots(self.store, slots, before.heads(), before.history, epoch, before.batch)

    def release(self, slots: Integers, epoch: int, batch: int) -> Integers:
        """Gives the memory of slots back that no task holds and that are not newer, and gives those whose is."""
        return release_slots(self.store, slots, epoch, batch)

    def ready(self, slots: Integers, before: StateBefore, budget_bytes: int) -> Integers:
        """The slots that a task can open at the price of reading so many bytes."""
        return ready_slots(self.store, slots, before.heads(), before.history, budget_bytes)

    def process(
        self,
        keys: Sequence[Column],
        rows: int,
        columns: Sequence[FixedColumn],
        slots: npt.NDArray[np.int32] | None = None,
    ) -> Fired:
        """Takes a block: the key columns and the columns the calls refer to; slots go by hash where they are None."""
        groups = self.task.groups(keys, rows, slots)
        self.memory.require_space(rows)
        self.task.record(columns)
        return self.window.process(groups, self.memory.group_limit, columns, self.task.owners)

    def commit(self) -> Entries:
        entries = self.task.commit()
        self._task = None
        return entries

    def close(self) -> None:
        """Lets go of the slots; without a commit they will be rebuilt."""
        if self._task is not None:
            self._task.close()
            self._task = None

    def _replay(self, groups: Ids, columns: list[FixedColumn], owners: Owners) -> None:
        if self.memory.has_nulls:
            self.window.know_nulls()
        self.window.process(groups, self.memory.group_limit, columns, owners)


def count_window_layout(
    size: int,
    every: int,
    tumbling: bool,
    aggregates: tuple[AggregateCall, ...],
    types: tuple[np.dtype[Any], ...],
    slots: int,
    key_types: tuple[pa.DataType, ...],
    column_types: tuple[pa.DataType, ...],
    retained: tuple[int, ...] = (),
) -> RowLayout:
    """The rows that a count window's kernel works on."""
    step = size if tumbling else every
    shape = Shape(size, step, aggregates, types, nullable=False, retained=retained)
    nulls = Shape(size, step, aggregates, types, nullable=True, retained=retained).words(about_nulls=True)
    return RowLayout(slots, key_types, shape.words(about_nulls=False), nulls, column_types, shape.chunks)
