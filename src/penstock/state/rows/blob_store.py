"""State that is not rows: one object per slot, logged whole when it changed, or as the piece by which it changed.

Nothing of it is shared between processes: a worker keeps the objects it committed, and takes those of others from the
log.  So an attempt that was overtaken can do no harm, and there is nothing to lock or to repair.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from penstock.errors import StateError
from penstock.state.checkpoint.checksum import checksums
from penstock.state.checkpoint.entries import ENTRY, Entries, Heads, no_entries, tokens_of
from penstock.state.checkpoint.logs import Logs, LogWriter
from penstock.state.extents import Integers
from penstock.state.rows.row_store import History
from penstock.state.token import Token

_RETAINED_BATCHES = 16  # that a slot may be elsewhere: replicas of one host change workers from batch to batch
_MOST_PIECES = 128  # files that a rebuild reads
_LEAST_BYTES = 1 << 16  # a history below this is not worth a whole object
_BUFFER_BYTES = 1 << 26  # objects that are written together


class Piece(Protocol):
    """What changed of an object in one task."""

    @property
    def whole_bytes(self) -> int:
        """About how long the whole object would be."""
        ...

    def after(self, value: Any) -> Any:
        """The object as it is after the change."""
        ...


class BlobStore:
    """The objects of one operator in one worker process."""

    def __init__(self, slots: int, logs: Logs, dumps: Callable[[Any], bytes] = pickle.dumps) -> None:
        self.slots, self.logs, self.dumps = slots, logs, dumps
        self._cached: dict[int, tuple[Token, Any]] = {}
        self._served: Integers = np.zeros(slots, np.int64)  # by slot, the newest batch that a task had it in

    def open(self, slots: Sequence[int] | Integers, heads: Heads, history: History, token: Token) -> BlobTask:
        """Takes slots for a task; objects that are not of the token that `heads` says come from the log."""
        held = np.unique(np.asarray(slots, np.int64))
        if len(held) and not 0 <= held[0] <= held[-1] < self.slots:
            raise StateError(f"an operator of {self.slots} slots was asked for slots {held[0]} to {held[-1]}")
        wanted = tokens_of(heads, held)
        values = {slot: self._cached[slot][1] for slot, own in wanted.items() if self._is_cached(slot, own)}
        self._served[held] = token.batch
        # What a task may change is nobody's until it commits; what this process serves no more is nobody's either.
        self._cached = {
            slot: cached
            for slot, cached in self._cached.items()
            if slot not in wanted and not self._is_left(slot, cached[0], heads, token.batch)
        }
        missing = np.array(sorted(set(wanted) - set(values)), np.int64)
        if len(missing):
            values |= self._loaded(history(missing))
        sizes = {slot: (int(heads["pieces"][slot]), int(heads["bytes"][slot])) for slot in wanted}
        return BlobTask(self, held, values, wanted, token, missing, sizes)

    def keep(self, values: dict[int, Any], tokens: dict[int, Token]) -> None:
        for slot, token in tokens.items():
            self._cached[slot] = (token, values[slot])

    @property
    def cached(self) -> set[int]:
        """The slots whose objects are kept for tasks to come."""
        return set(self._cached)

    def _is_left(self, slot: int, own: Token, heads: Heads, batch: int) -> bool:
        """Whether others go on with a slot: it is newer in the manifest, or no task here had it for some batches.

        What another task of this very batch committed is not in the manifest yet.
        """
        head = heads[slot]
        is_head = (head["epoch"], head["batch"], head["attempt"]) == (own.epoch, own.batch, own.attempt)
        is_old = own.batch < batch and not is_head
        return is_old or bool(self._served[slot] < batch - _RETAINED_BATCHES)

    def _is_cached(self, slot: int, token: Token) -> bool:
        return slot in self._cached and self._cached[slot][0] == token

    def _loaded(self, history: Entries) -> dict[int, Any]:
        values: dict[int, Any] = {}
        for entry in history:
            words, _ = self.logs.read(np.array([entry], ENTRY))
            slot, value = int(entry["slot"]), pickle.loads(words[1:].tobytes()[: int(words[0])])
            values[slot] = value if entry["whole"] else value.after(values[slot])
        return values


class BlobTask:
    """The objects of a task's slots; what is put is logged by `commit`."""

    def __init__(
        self,
        store: BlobStore,
        slots: Integers,
        values: dict[int, Any],
        tokens: dict[int, Token],
        token: Token,
        rebuilt: Integers,
        sizes: dict[int, tuple[int, int]],
    ) -> None:
        self.slots, self.token, self.rebuilt = slots, token, rebuilt
        self._store, self._values, self._tokens = store, values, tokens
        self._held, self._changed = set(slots.tolist()), set[int]()
        self._sizes, self._pieces = sizes, dict[int, Piece]()

    def get(self, slot: int) -> Any:
        """The slot's object, None where it has none; an object that is changed in place must be put again."""
        self._check(slot)
        return self._values.get(slot)

    def put(self, slot: int, value: Any, piece: Piece | None = None) -> None:
        """Has an object logged: whole, or as the `piece` that changed, where the history stays short with it."""
        self._check(slot)
        if piece is not None:
            self._pieces[slot] = piece
        self._values[slot] = value
        self._changed.add(slot)

    def replace(self, slot: int, value: Any) -> None:
        """Takes another object that says the same, which need not be logged again."""
        self._check(slot)
        self._values[slot] = value

    def commit(self) -> Entries:
        """Logs the objects that were put; the entries count once a manifest has them."""
        entries = self._write() if self._changed else no_entries()
        self._tokens |= dict.fromkeys(self._changed, self.token)
        self._store.keep(self._values, self._tokens)
        return entries

    def _check(self, slot: int) -> None:
        if slot not in self._held:
            raise StateError(
                f"the object of slot {slot} was asked for in a task that does not hold it; its route is wrong"
            )

    def _write(self) -> Entries:
        slots = sorted(self._changed)
        entries = np.zeros(len(slots), ENTRY)
        entries["slot"] = slots
        entries["epoch"], entries["batch"], entries["attempt"] = self.token.epoch, self.token.batch, self.token.attempt
        with self._store.logs.writer(self.token) as writer:
            first, parts, held_bytes = 0, list[bytes](), 0
            for place, slot in enumerate(slots):
                data, entries["whole"][place] = self._logged(slot)
                parts.append(data)
                held_bytes += len(data)
                if held_bytes > _BUFFER_BYTES or place == len(slots) - 1:
                    _append(self._store.logs, writer, parts, entries[first : place + 1])
                    first, parts, held_bytes = place + 1, [], 0
        return entries

    def _logged(self, slot: int) -> tuple[bytes, bool]:
        """A slot's piece, or all of it; the history of a slot begins with a whole object."""
        if slot in self._pieces and slot in self._sizes:
            piece, (pieces, size_bytes) = self._pieces[slot], self._sizes[slot]
            data = self._store.dumps(piece)
            if pieces < _MOST_PIECES and size_bytes + _logged_bytes(data) < max(2 * piece.whole_bytes, _LEAST_BYTES):
                return data, False
        return self._store.dumps(self._values[slot]), True


def _logged_bytes(data: bytes) -> int:
    """Its length, then the data in whole words."""
    return 8 * (1 + -(-len(data) // 8))


def _append(logs: Logs, writer: LogWriter, parts: Sequence[bytes], entries: Entries) -> None:
    """Writes objects at once, each as `_logged_bytes` says, and says in its entry where it lies."""
    entries["length"] = [_logged_bytes(data) for data in parts]
    stops = np.cumsum(entries["length"]) // 8
    starts = stops - entries["length"] // 8
    words = logs.buffer(int(stops[-1]))
    words[stops - 1] = 0  # what fills the last word up
    words[starts] = [len(data) for data in parts]
    octets = words.data.cast("B")
    for start, data in zip((8 * starts + 8).tolist(), parts, strict=True):
        octets[start : start + len(data)] = data
    entries["offset"] = writer.write(words) + 8 * starts
    entries["checksum"] = checksums(words, starts, stops)
