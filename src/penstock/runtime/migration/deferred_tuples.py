"""Tuples of slots whose state is not there yet, put off by a replica to the next micro-batch, slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.block.block import Block, concat_blocks
from penstock.block.envelope import seal
from penstock.kernels.keys.hashing import Slots
from penstock.runtime.migration.waiting_tuples import Waited, Waiting, waiting_slots
from penstock.state.checkpoint.entries import Entries, no_entries
from penstock.state.checkpoint.state_before import StateBefore
from penstock.state.extents import Integers
from penstock.state.rows.blob_store import BlobStore, BlobTask
from penstock.state.token import Token

SlotsOf = Callable[[str, Block], Slots]


class DeferredTuples:
    """What one element puts off: per task `open`, `earlier`, `ready` for each block, `commit`."""

    def __init__(self, store: BlobStore, slots_of: SlotsOf) -> None:
        self._store, self._slots_of = store, slots_of
        self._task: BlobTask | None = None
        self._is_ready: npt.NDArray[np.bool_] | None = None  # by slot; None where all are
        self._back: dict[str, list[tuple[int, Block, Slots]]] = {}
        self._waited: dict[int, Waited] = {}
        self._block_rows = 1

    def open(self, slots: Integers, ready: Integers, before: StateBefore, token: Token, block_rows: int) -> None:
        """Takes a task's slots, of which only the `ready` ones may be worked on.

        `block_rows` are the offsets of a source that one block may be of.
        """
        self._task, self._is_ready, self._back, self._waited = None, None, {}, {}
        self._block_rows = block_rows
        heads = before.heads()
        old = np.intersect1d(waiting_slots(heads), slots)
        if len(ready) < len(slots):
            self._is_ready = np.zeros(self._store.slots, np.bool_)
            self._is_ready[ready] = True
        if len(old) or self._is_ready is not None:
            held = slots if self._is_ready is not None else old
            self._task = self._store.open(held, _only(heads, old), before.history, token)
            self._waited = {slot: self._task.get(slot) for slot in old.tolist()}

    def earlier(self) -> list[Waiting]:
        """What earlier batches put off for slots that are ready now, slot by slot, oldest first."""
        return [w for slot, waited in self._waited.items() if self._may_work_on(slot) for w in waited]

    def ready(self, stream: str, sequence: int, block: Block) -> Block:
        """The tuples of a block that may be worked on; the others are kept for later."""
        if self._is_ready is None:
            return block
        slots = self._slots_of(stream, block)
        is_ready = self._is_ready[slots]
        if is_ready.all():
            return block
        rows = np.flatnonzero(~is_ready)
        self._back.setdefault(stream, []).append((sequence, block.take(rows), slots[rows]))
        return block.take(np.flatnonzero(is_ready))

    @property
    def tuples(self) -> int:
        """Tuples that this task puts off."""
        return sum(block.rows for parts in self._back.values() for _, block, _ in parts)

    def commit(self) -> Entries:
        """Logs what waits now."""
        if self._task is None:
            return no_entries()
        for slot in self._waited:
            if self._may_work_on(slot):
                self._task.put(slot, ())
        for slot, added in self._added().items():
            self._task.put(slot, self._waited.get(slot, ()) + added)
        entries, self._task = self._task.commit(), None
        return entries

    def _may_work_on(self, slot: int) -> bool:
        return self._is_ready is None or bool(self._is_ready[slot])

    def _added(self) -> dict[int, Waited]:
        """The tuples kept back, one sealed block per slot and stream."""
        added: dict[int, Waited] = {}
        for stream, parts in self._back.items():
            block, slots = concat_blocks([p[1] for p in parts]), np.concatenate([p[2] for p in parts])
            numbers = [p[0] for p in parts]
            first, offsets = min(numbers), max(numbers) - min(numbers) + self._block_rows
            order = np.argsort(slots, kind="stable")
            found, starts = np.unique(slots[order], return_index=True)
            by_slot = block.take(order)
            for slot, start, stop in zip(found.tolist(), starts, [*starts[1:], block.rows], strict=True):
                own = by_slot.slice(int(start), int(stop))
                waiting = Waiting(stream, first, offsets, own.rows, seal(own).to_pybytes())
                added[slot] = (*added.get(slot, ()), waiting)
        return added


def together(waited: list[Waiting], unsealed: Callable[[str, pa.Buffer], Block]) -> Mapping[str, tuple[Waiting, Block]]:
    """All tuples of each stream as one block, with the first number and the offsets of all."""
    streams: dict[str, list[Waiting]] = {}
    for own in waited:
        streams.setdefault(own.stream, []).append(own)
    found = {}
    for stream, parts in streams.items():
        first = min(w.sequence for w in parts)
        offsets = max(w.sequence + w.offsets for w in parts) - first
        block = concat_blocks([unsealed(stream, pa.py_buffer(w.payload)) for w in parts])
        found[stream] = Waiting(stream, first, offsets, block.rows, b""), block
    return found


def _only(heads: npt.NDArray[np.void], slots: Integers) -> npt.NDArray[np.void]:
    """The heads of some slots; all others as if nothing was ever logged of them."""
    own = np.zeros_like(heads)
    own[slots] = heads[slots]
    return own
