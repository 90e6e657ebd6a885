"""Rows of state by key, for the tasks of one worker process: open slots, change rows, commit what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.block.column import Column, FixedColumn
from penstock.errors import StaleAttemptError, StateError
from penstock.host.process import this_process
from penstock.kernels.windows.count.chunks import Owners
from penstock.state.checkpoint.entries import Entries, Heads
from penstock.state.checkpoint.logs import Logs
from penstock.state.extents import Integers
from penstock.state.memory.header import Field, Header
from penstock.state.memory.host_memory import HostMemory
from penstock.state.rows.key_cache import Ids, KeyCache
from penstock.state.rows.rebuild import Replay, rebuild
from penstock.state.rows.recorded_tuples import RecordedTuples
from penstock.state.rows.row_log import HeldSlots, write_log
from penstock.state.slots.slot_functions import HashSlots
from penstock.state.token import Token

History = Callable[[Integers], Entries]
_TOKEN_FIELDS = ((Field.EPOCH, "epoch"), (Field.BATCH, "batch"), (Field.ATTEMPT, "attempt"))


class RowStore:
    """The rows of one operator as a worker process sees them; `replay` feeds logged tuples to the operator's kernel."""

    def __init__(self, memory: HostMemory, logs: Logs, replay: Replay | None = None) -> None:
        self.memory, self.logs, self.replay = memory, logs, replay
        self.keys, self.recorded = KeyCache(memory), RecordedTuples(memory)

    def open(self, slots: Sequence[int] | Integers, heads: Heads, history: History, token: Token) -> RowTask:
        """Holds slots for a task; those that are not exactly as `heads` (of the batch before) says are rebuilt first.

        `history` gives the entries of some slots up to the batch before; it is called only where something is rebuilt.
        """
        held = np.unique(np.asarray(slots, np.int64))
        if len(held) and not 0 <= held[0] <= held[-1] < self.memory.layout.slots:
            raise StateError(
                f"an operator of {self.memory.layout.slots} slots was asked for slots {held[0]} to {held[-1]}"
            )
        self._lock(held, token)
        try:
            rebuilt = self._prepare(held, heads, history, token)
        except BaseException:
            self.let_go(held)
            raise
        return RowTask(self, held, heads[held], token, rebuilt)

    def _lock(self, held: Integers, token: Token) -> None:
        """Locks slots in the files that are in use now: others may have been made while it waited."""
        while True:
            self.memory.follow()
            self.memory.locks.take(held, self.memory.header, token)
            if self.memory.locks.is_same_file():
                return
            self.memory.locks.release(held)

    def _prepare(self, held: Integers, heads: Heads, history: History, token: Token) -> Integers:
        header = self.memory.header
        self._refuse_if_stale(held, token)
        header.mark_held(held, this_process(), token)
        self.memory.see_growth()  # who held the slots until now may have made the files longer
        is_dirty = header.fields[Field.DIRTY, held] != 0
        differs = is_dirty | differing(header, held, heads)
        header.fields[Field.DIRTY, held] = 1
        wrong: Integers = held[differs]
        if len(wrong):
            rebuild(self.memory, self.logs, wrong, is_dirty[differs], history(wrong), self.replay)
        self.keys.follow(held)
        return wrong

    def _refuse_if_stale(self, held: Integers, token: Token) -> None:
        """A slot that a newer attempt has committed is no longer this one's to touch."""
        fields = self.memory.header.fields
        epoch, attempt = fields[Field.EPOCH, held], fields[Field.ATTEMPT, held]
        newer = (epoch > token.epoch) | ((epoch == token.epoch) & (attempt >= token.attempt))
        if newer.any():
            slot = int(held[newer.argmax()])
            raise StaleAttemptError(f"{token} came too late: a newer attempt has committed slot {slot}")

    def let_go(self, held: Integers) -> None:
        try:
            self.memory.header.mark_released(held)
        finally:
            self.memory.locks.release(held)


def differing(header: Header, slots: Integers, heads: Heads) -> npt.NDArray[np.bool_]:
    """Whether each slot has another token than its head says."""
    differs: npt.NDArray[np.bool_] = np.zeros(len(slots), np.bool_)
    for field, name in _TOKEN_FIELDS:
        differs |= header.fields[field, slots] != heads[name][slots]
    return differs


class RowTask:
    """Slots held by one task attempt; from the first change to `commit` they are dirty, whatever ends the task.

    Opening slots and closing them brings them up to date.
    """

    def __init__(self, store: RowStore, slots: Integers, heads: Heads, token: Token, rebuilt: Integers) -> None:
        self.slots, self.token, self.rebuilt = slots, token, rebuilt
        self._store = store
        fields = store.memory.header.fields
        self._held = HeldSlots(token, slots, heads, fields[Field.KEYS, slots], fields[Field.TEXT, slots])
        self._is_held: npt.NDArray[np.bool_] = np.zeros(store.memory.layout.slots, np.bool_)
        self._is_held[slots] = True
        self._recorded = store.recorded
        self._ids: Ids = np.empty(0, np.int32)
        self._recorded.start(int(self._held.first_key.sum()), slots)
        self._is_open, self._is_changed = True, False

    def __enter__(self) -> RowTask:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def groups(self, keys: Sequence[Column], rows: int, slots: npt.NDArray[np.int32] | None = None) -> Ids:
        """The group of each row's key; new keys get the next group of their slot (by hash where `slots` is None)."""
        cache, self._is_changed = self._store.keys, True
        self._ids, groups, missing = cache.place(keys, rows)
        if missing:
            self._add(keys, np.flatnonzero(groups < 0), slots)
            groups, _ = cache.find(self._ids)
        return groups

    @property
    def owners(self) -> Owners:
        """The key of each row whose group was asked for last, and the slot of each key."""
        return self._ids, self._store.keys.slot

    def record(self, columns: Sequence[FixedColumn]) -> None:
        """Notes the tuples whose groups were asked for last, to log them where that is shorter than their rows."""
        if self._store.replay is not None:
            self._recorded.add(self._ids, columns, len(self._store.keys.touched))

    def commit(self) -> Entries:
        """Logs what changed and makes it the state of this token; the entries count once a manifest has them."""
        if not self._is_open:
            raise StateError(f"the task of {self.token} is over: it commits once, and before it is closed")
        store, fields = self._store, self._store.memory.header.fields
        entries = write_log(store.memory, store.keys, store.logs, self._recorded, self._held)
        written = entries["slot"]
        for field, name in _TOKEN_FIELDS:
            fields[field, written] = entries[name]
        self._is_changed = False
        self.close()
        return entries

    def close(self) -> None:
        """Lets others have the slots; those that nothing was done to are as good as they were."""
        if self._is_open:
            self._is_open = False
            if not self._is_changed:
                self._store.memory.header.fields[Field.DIRTY, self.slots] = 0
            self._store.let_go(self.slots)

    def _add(self, keys: Sequence[Column], rows: Integers, slots: npt.NDArray[np.int32] | None) -> None:
        """Lists the keys of some rows, each once."""
        memory = self._store.memory
        ids, first = np.unique(self._ids[rows], return_index=True)
        rows = rows[first]
        columns = [column.take(rows) for column in keys]
        by_row = HashSlots(memory.layout.slots).slots_of(columns, len(rows)) if slots is None else slots[rows]
        own = by_row.astype(np.int64)
        if own.min() < 0 or own.max() >= memory.layout.slots or not self._is_held[own].all():
            strange = own[~self._is_held[np.clip(own, 0, memory.layout.slots - 1)]]
            slot = int(strange[0]) if len(strange) else int(own.max())
            raise StateError(f"a tuple of slot {slot} came to a task that does not hold it; its route is wrong")
        encoded = memory.codec.encode(columns, len(rows))
        self._reserve(own, encoded.words)
        self._store.keys.add(ids, own, encoded)

    def _reserve(self, own: Integers, words: Integers) -> None:
        memory = self._store.memory
        fields, is_text = memory.header.fields, memory.codec.is_text
        slots, place = np.unique(own, return_inverse=True)
        keys = fields[Field.KEYS, slots] + np.bincount(place)
        text = fields[Field.TEXT, slots]
        if is_text.any():
            lengths: Any = np.diff(words[:, is_text][:, -1], prepend=0)
            text = text + np.bincount(place, weights=lengths).astype(np.int64)
        memory.reserve(slots, keys, text)
        if memory.pool is not None:
            memory.pool.reserve_first(slots, np.bincount(place))
