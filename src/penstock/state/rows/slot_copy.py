"""Slots made ready on a host before any task there needs them, which of them a task can have at once, and their end."""

from __future__ import annotations

import numpy as np

from penstock.host.process import this_process
from penstock.state.checkpoint.entries import Heads
from penstock.state.extents import Integers
from penstock.state.memory.header import Field
from penstock.state.memory.host_memory import HostMemory
from penstock.state.rows.rebuild import missing_bytes, rebuild
from penstock.state.rows.row_store import History, RowStore, differing
from penstock.state.token import Token

NO_ATTEMPT = 0  # any task is newer than a copy, and may end it


def copy_slots(store: RowStore, slots: Integers, heads: Heads, history: History, epoch: int, batch: int) -> Integers:
    """Brings slots to what `heads` (of `batch`) says, and gives those that are so now.

    It never waits for a task or ends one: slots that are held, or newer than `batch`, are left alone.  Whoever dies in
    the middle leaves a slot dirty, to be rebuilt like any other.
    """
    memory = store.memory
    memory.follow()
    taken = memory.locks.take_free(np.unique(np.asarray(slots, np.int64)))
    try:
        if not memory.locks.is_same_file():  # left for other files meanwhile
            return taken[:0]
        own, fields = _not_newer(memory, taken, epoch, batch), memory.header.fields
        memory.header.mark_held(own, this_process(), Token(epoch, batch, NO_ATTEMPT))
        memory.see_growth()
        is_dirty = fields[Field.DIRTY, own] != 0
        differs = is_dirty | differing(memory.header, own, heads)
        wrong = own[differs]
        if len(wrong):
            fields[Field.DIRTY, wrong] = 1
            rebuild(memory, store.logs, wrong, is_dirty[differs], history(wrong), store.replay)
            fields[Field.DIRTY, wrong] = 0
    finally:
        store.let_go(taken)
    return own


def release_slots(store: RowStore, slots: Integers, epoch: int, batch: int) -> Integers:
    """Empties slots that no task holds and gives their memory back; gives those that are so now.

    Those that are newer than `batch` are in use, whatever was thought.  One that is needed again after all is rebuilt
    like any other.
    """
    memory = store.memory
    memory.follow(to_fill=False)
    taken = memory.locks.take_free(np.unique(np.asarray(slots, np.int64)))
    try:
        own = _not_newer(memory, taken, epoch, batch)
        memory.header.mark_held(own, this_process(), Token(1, 0, NO_ATTEMPT))
        memory.see_growth()
        memory.header.fields[Field.DIRTY, own] = 1
        memory.header.clear(own)
        memory.give_back(own)
        memory.header.fields[Field.DIRTY, own] = 0
    finally:
        store.let_go(taken)
    return own


def _not_newer(memory: HostMemory, slots: Integers, epoch: int, batch: int) -> Integers:
    fields = memory.header.fields
    same = fields[Field.EPOCH, slots] == epoch
    newer = (fields[Field.EPOCH, slots] > epoch) | (same & (fields[Field.BATCH, slots] > batch))
    own: Integers = slots[~newer]
    return own


def ready_slots(store: RowStore, slots: Integers, heads: Heads, history: History, budget_bytes: int) -> Integers:
    """Slots that are as `heads` says, or can be brought there by reading so many bytes of logs in all.

    Looked at without locks: what comes of it is for `RowStore.open` to make sure of.
    """
    store.memory.follow()
    fields = store.memory.header.fields
    is_dirty = fields[Field.DIRTY, slots] != 0
    differs = is_dirty | differing(store.memory.header, slots, heads)
    wrong = slots[differs]
    if not len(wrong):
        return slots
    lacking = missing_bytes(store.memory, wrong, is_dirty[differs], history(wrong))[wrong]
    is_held = fields[Field.HOLDER_PID, wrong] != 0  # by a copy, most likely
    cost_bytes = np.where(is_held, budget_bytes + 1, lacking)
    order = np.argsort(cost_bytes, kind="stable")
    cheap = wrong[order[np.cumsum(cost_bytes[order]) <= budget_bytes]]
    ready: Integers = np.sort(np.concatenate([slots[~differs], cheap]))
    return ready
