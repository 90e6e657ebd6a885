"""The header of an operator's state on one host: versions, marks and extents of all slots, in shared memory.

Every number is one aligned 64-bit word, so a reader never sees half of one; it is written by whoever holds the slot's
lock (what belongs to no slot: the allocation lock).
"""

from __future__ import annotations

import mmap
import os
from enum import IntEnum

import numpy as np

from penstock.host.process import Process
from penstock.state.extents import EXTENTS_MAX, Integers
from penstock.state.token import Token

_MAGIC = 0x314B434F54534E50
_SHARED_WORDS = 16


class Shared(IntEnum):
    """Words that belong to no slot."""

    MAGIC = 0
    ROWS_USED = 1
    ROWS_CAPACITY = 2
    TEXT_USED = 3
    TEXT_CAPACITY = 4
    HAS_NULLS = 5
    CHUNKS_USED = 6
    CHUNKS_CAPACITY = 7


class Field(IntEnum):
    """Words of a slot: the token it contains, marks, lengths, and who holds it."""

    EPOCH = 0
    BATCH = 1
    ATTEMPT = 2
    DIRTY = 3
    KEYS = 4
    TEXT = 5
    GENERATION = 6  # changes whenever the slot's list of keys is not a longer version of what it was
    ROWS_EVER = 7  # rows below this may hold leavings
    ROW_EXTENTS = 8
    TEXT_EXTENTS = 9
    HOLDER_PID = 10
    HOLDER_START = 11
    HOLDER_EPOCH = 12
    HOLDER_ATTEMPT = 13
    ROW_EXTENTS_BACKED = 14  # those of its extents that have memory
    TEXT_EXTENTS_BACKED = 15
    CHUNK_EXTENTS = 16
    CHUNK_EXTENTS_USED = 17  # chunks are taken from the last of these
    CHUNK_NEXT = 18  # the granule of its next chunk
    CHUNK_END = 19  # the first granule behind those that have memory


class Header:
    """A mapped header file; made ready by the first process that comes, under the allocation lock."""

    def __init__(self, path: str, slots: int, *, has_chunks: bool = False) -> None:
        self.slots = slots
        tables = 3 if has_chunks else 2
        words = _SHARED_WORDS + (len(Field) + tables * EXTENTS_MAX) * slots
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # Reserved at once: a full disk is an error here, and not a bus error later.
            os.posix_fallocate(descriptor, 0, 8 * words)
            memory = np.frombuffer(mmap.mmap(descriptor, 8 * words), np.int64)
        finally:
            os.close(descriptor)
        self.shared: Integers = memory[:_SHARED_WORDS]
        parts = memory[_SHARED_WORDS:]
        self.fields: Integers = parts[: len(Field) * slots].reshape(len(Field), slots)
        extents = parts[len(Field) * slots :].reshape(tables, slots, EXTENTS_MAX)
        self.row_extents: Integers = extents[0]
        self.text_extents: Integers = extents[1]
        self.chunk_extents: Integers = extents[-1]  # where there are chunks

    @property
    def is_ready(self) -> bool:
        return bool(self.shared[Shared.MAGIC] == _MAGIC)

    def make_ready(self) -> None:
        self.shared[Shared.MAGIC] = _MAGIC

    def mark_held(self, slots: Integers, process: Process, token: Token) -> None:
        self.fields[Field.HOLDER_START, slots] = process.start_ticks
        self.fields[Field.HOLDER_EPOCH, slots] = token.epoch
        self.fields[Field.HOLDER_ATTEMPT, slots] = token.attempt
        self.fields[Field.HOLDER_PID, slots] = process.pid  # last: it says that the others are there

    def mark_released(self, slots: Integers) -> None:
        self.fields[Field.HOLDER_PID, slots] = 0

    def clear(self, slots: Integers) -> None:
        """Empties dirty slots; their extents stay theirs."""
        fields = self.fields
        fields[Field.ROWS_EVER, slots] = np.maximum(fields[Field.ROWS_EVER, slots], fields[Field.KEYS, slots])
        fields[Field.GENERATION, slots] += 1
        for field in (Field.KEYS, Field.TEXT, Field.EPOCH, Field.BATCH, Field.ATTEMPT):
            fields[field, slots] = 0
        for field in (Field.CHUNK_EXTENTS_USED, Field.CHUNK_NEXT, Field.CHUNK_END):
            fields[field, slots] = 0
