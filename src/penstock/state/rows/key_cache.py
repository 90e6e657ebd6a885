"""What a worker process knows of the keys in its slots: key -> group, kept from task to task, checked at each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.block.column import Column
from penstock.kernels.keys.key_ids import KeyIndex
from penstock.state.extents import Integers
from penstock.state.memory.header import Field
from penstock.state.memory.host_memory import HostMemory
from penstock.state.memory.key_codec import EncodedKeys
from penstock.state.rows.row_kernels import compiled

Ids = npt.NDArray[np.int32]

_IDS_AT_FIRST = 1 << 12
# A cache that has so many times the keys in use is thrown away.
_USELESS_RATIO = 4
_USELESS_KEYS = 1 << 17


class KeyCache:
    """An index of keys; for each of its ids the slot, the number within the slot and the group, -1 where unknown."""

    def __init__(self, memory: HostMemory) -> None:
        self._memory = memory
        self.forget()

    def forget(self) -> None:
        """Starts anew."""
        slots = self._memory.layout.slots
        self._attachments = self._memory.attachments
        self.index = KeyIndex(self._memory.layout.key_types)
        self._keys: Integers = np.zeros(slots, np.int64)  # of each slot, known here
        self._text: Integers = np.zeros(slots, np.int64)
        self._generation: Integers = np.full(slots, -1, np.int64)
        self.slot, self.local, self.group = (np.full(_IDS_AT_FIRST, -1, np.int32) for _ in range(3))
        self._is_touched: npt.NDArray[np.uint8] = np.zeros(_IDS_AT_FIRST, np.uint8)
        self._touched: Ids = np.zeros(_IDS_AT_FIRST, np.int32)
        self._touched_count: Integers = np.zeros(1, np.int64)

    @property
    def touched(self) -> Ids:
        """Ids of the keys that were placed since `follow`, each once."""
        return self._touched[: self._touched_count[0]]

    def follow(self, slots: Integers) -> None:
        """Knows the keys of exactly these slots, reading only what others have added or made anew."""
        self._untouch()
        fields = self._memory.header.fields
        useless = max(_USELESS_KEYS, _USELESS_RATIO * int(fields[Field.KEYS, slots].sum()))
        if self.index.count > useless or self._attachments != self._memory.attachments:
            self.forget()
        self._drop_others(slots)
        generation = fields[Field.GENERATION, slots]
        self._drop(slots[self._generation[slots] != generation])
        self._generation[slots] = generation
        self._learn(slots[fields[Field.KEYS, slots] > self._keys[slots]])

    def place(self, columns: Sequence[Column], rows: int) -> tuple[Ids, Ids, int]:
        """The id and the group of each row's key, and how many rows have a key without a group."""
        ids = self.index.assign(columns, rows)
        self._reserve()
        groups, missing = self.find(ids)
        return ids, groups, missing

    def find(self, ids: Ids) -> tuple[Ids, int]:
        groups: Ids = np.empty(len(ids), np.int32)
        tables = (self.group, self._is_touched, self._touched, self._touched_count)
        return groups, int(compiled("place")(ids, *tables, groups))

    def add(self, ids: Ids, slots: Integers, keys: EncodedKeys) -> None:
        """Lists new keys in their slots, for which the memory has room."""
        groups, locals_ = np.empty(len(ids), np.int32), np.empty(len(ids), np.int32)
        compiled("append_keys")(self._memory.view(), slots, keys.words, keys.text, groups, locals_)
        self._note(ids, slots, locals_, groups)
        fields = self._memory.header.fields
        self._keys[slots], self._text[slots] = fields[Field.KEYS, slots], fields[Field.TEXT, slots]

    def _untouch(self) -> None:
        if 8 * len(self.touched) > len(self._is_touched):
            self._is_touched.fill(0)  # in order is faster than here and there
        else:
            self._is_touched[self.touched] = 0
        self._touched_count[0] = 0

    def _note(self, ids: Ids, slots: Integers, locals_: Ids, groups: Ids) -> None:
        self.slot[ids], self.local[ids], self.group[ids] = slots, locals_, groups

    def _drop_others(self, slots: Integers) -> None:
        others = self._keys > 0
        others[slots] = False
        self._drop(np.flatnonzero(others))

    def _drop(self, slots: Integers) -> None:
        """Forgets the groups of all keys of some slots."""
        slots = slots[self._keys[slots] > 0]
        if len(slots):
            dropped = np.zeros(self._memory.layout.slots + 1, np.bool_)  # the last is for ids without a slot
            dropped[slots] = True
            gone = dropped[self.slot]
            self.slot[gone] = self.group[gone] = -1
        self._keys[slots] = self._text[slots] = 0

    def _learn(self, slots: Integers) -> None:
        if not len(slots):
            return
        fields, memory = self._memory.header.fields, self._memory
        counts = fields[Field.KEYS, slots] - self._keys[slots]
        total, text_bytes = int(counts.sum()), int((fields[Field.TEXT, slots] - self._text[slots]).sum())
        groups, locals_ = np.empty(total, np.int32), np.empty(total, np.int32)
        words, text = np.empty((total, memory.codec.words), np.int64), np.empty(text_bytes, np.uint8)
        known: tuple[Any, ...] = (self._keys[slots], self._text[slots])
        compiled("read_keys")(memory.view(), slots, *known, groups, locals_, words, text)
        ids = self.index.assign(memory.codec.decode(EncodedKeys(words, text)), total)
        self._reserve()
        self._note(ids, np.repeat(slots, counts), locals_, groups)
        self._keys[slots], self._text[slots] = fields[Field.KEYS, slots], fields[Field.TEXT, slots]

    def _reserve(self) -> None:
        have, needed = len(self.group), self.index.count
        if needed <= have:
            return
        while have < needed:
            have *= 2
        self.slot, self.local, self.group = (_longer(a, have, -1) for a in (self.slot, self.local, self.group))
        self._is_touched, self._touched = _longer(self._is_touched, have, 0), _longer(self._touched, have, 0)


def _longer(array: npt.NDArray[Any], length: int, filling: int) -> npt.NDArray[Any]:
    longer = np.full(length, filling, array.dtype)
    longer[: len(array)] = array
    return longer
