"""State that is not rows: one object per slot, logged whole when it changed.

Nothing of it is shared between processes: a worker keeps the objects it committed, and takes those of others from the
log.  So an attempt that was overtaken can do no harm, and there is nothing to lock or to repair.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.errors import StateError
from penstock.state.checkpoint.checksum import checksums
from penstock.state.checkpoint.entries import ENTRY, Entries, Heads, no_entries, token_of
from penstock.state.checkpoint.logs import Logs
from penstock.state.extents import Integers
from penstock.state.rows.row_store import History
from penstock.state.token import Token


class BlobStore:
    """The objects of one operator in one worker process."""

    def __init__(self, slots: int, logs: Logs, dumps: Callable[[Any], bytes] = pickle.dumps) -> None:
        self.slots, self.logs, self.dumps = slots, logs, dumps
        self._cached: dict[int, tuple[Token, Any]] = {}

    def open(self, slots: Sequence[int] | Integers, heads: Heads, history: History, token: Token) -> BlobTask:
        """Takes slots for a task; objects that are not of the token that `heads` says come from the log."""
        held = np.unique(np.asarray(slots, np.int64))
        if len(held) and not 0 <= held[0] <= held[-1] < self.slots:
            raise StateError(f"an operator of {self.slots} slots was asked for slots {held[0]} to {held[-1]}")
        wanted = {int(slot): token_of(heads[slot]) for slot in held[heads["epoch"][held] > 0]}
        values = {slot: self._cached[slot][1] for slot, own in wanted.items() if self._is_cached(slot, own)}
        # What a task may change is nobody's until it commits.
        self._cached = {slot: cached for slot, cached in self._cached.items() if slot not in wanted}
        missing = np.array(sorted(set(wanted) - set(values)), np.int64)
        if len(missing):
            values |= self._loaded(history(missing))
        return BlobTask(self, held, values, wanted, token, missing)

    def keep(self, values: dict[int, Any], tokens: dict[int, Token]) -> None:
        for slot, token in tokens.items():
            self._cached[slot] = (token, values[slot])

    def _is_cached(self, slot: int, token: Token) -> bool:
        return slot in self._cached and self._cached[slot][0] == token

    def _loaded(self, history: Entries) -> dict[int, Any]:
        values: dict[int, Any] = {}
        for entry in history:
            words, _ = self.logs.read(np.array([entry], ENTRY))
            values[int(entry["slot"])] = pickle.loads(words[1:].tobytes()[: int(words[0])])
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
    ) -> None:
        self.slots, self.token, self.rebuilt = slots, token, rebuilt
        self._store, self._values, self._tokens = store, values, tokens
        self._held, self._changed = set(slots.tolist()), set[int]()

    def get(self, slot: int) -> Any:
        """The slot's object, None where it has none; an object that is changed in place must be put again."""
        self._check(slot)
        return self._values.get(slot)

    def put(self, slot: int, value: Any) -> None:
        self._check(slot)
        self._values[slot] = value
        self._changed.add(slot)

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
        entries["slot"], entries["whole"] = slots, 1
        entries["epoch"], entries["batch"], entries["attempt"] = self.token.epoch, self.token.batch, self.token.attempt
        with self._store.logs.writer(self.token) as writer:
            for place, slot in enumerate(slots):
                words = _words(self._store.dumps(self._values[slot]))
                entries["offset"][place], entries["length"][place] = writer.write(words), words.nbytes
                entries["checksum"][place] = checksums(words, np.zeros(1, np.int64), np.array([len(words)]))[0]
        return entries


def _words(data: bytes) -> Integers:
    words: Integers = np.zeros(1 + -(-len(data) // 8), np.int64)
    words[0] = len(data)
    words[1:].view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)
    return words
