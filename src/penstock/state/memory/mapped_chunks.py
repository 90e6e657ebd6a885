"""Chunks of long windows in mapped files: a slot takes them from extents of its own, one after the other.

An extent is much longer than a chunk, so that little of it is left when the next chunk does not fit.  Its memory is
reserved in small steps, so that a slot has hardly more than it uses.  A slot that is cleared begins with its first
extent again; what is in it then is never read before it is written, but for words about nulls, which a rebuild
makes zero: what it reads may have been written where nothing was known of nulls.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import StateError
from penstock.kernels.windows.count.chunks import GRANULE, ChunkLayout, Integers
from penstock.state.extents import EXTENTS_MAX, extent_units
from penstock.state.memory.header import Field, Shared
from penstock.state.memory.mapped_rows import MappedRows

if TYPE_CHECKING:
    from penstock.state.memory.host_memory import HostMemory

GRANULES_AT_FIRST = 1 << 16
_GRANULES_MAX = (1 << 31) - 1  # tables of chunks have 32 bits
CHUNKS_PER_EXTENT = 32
_STEP_SHARE = 32  # memory is reserved for a 32nd more than is in use


class MappedChunks:
    """The chunks of one operator on one host."""

    def __init__(self, memory: HostMemory, layout: ChunkLayout) -> None:
        self._memory, self.layout = memory, layout
        longest = int(layout.granules.max())
        self.shift = (CHUNKS_PER_EXTENT * longest - 1).bit_length()
        self._page = max(mmap.PAGESIZE // max(layout.granule_bytes, 1), 1)

    @property
    def values(self) -> MappedRows:
        return self._memory.chunks

    @property
    def nulls(self) -> MappedRows:
        return self._memory.chunk_nulls

    @property
    def ranges(self) -> tuple[Integers, Integers]:
        fields = self._memory.header.fields
        return fields[Field.CHUNK_NEXT], fields[Field.CHUNK_END]

    def use_nulls(self) -> None:
        """The window that asks for rows about nulls gets these, too."""

    def granules(self, slots: Integers) -> Integers:
        """How many granules slots have taken, with those left at the ends of extents."""
        header = self._memory.header
        used = header.fields[Field.CHUNK_EXTENTS_USED, slots]
        last = np.maximum(used - 1, 0)
        in_last = header.fields[Field.CHUNK_NEXT, slots] - header.chunk_extents[slots, last]
        return np.where(used > 0, _extent_starts(last, self.shift) + in_last, 0)

    def grow(self, owner: int, granules: int) -> None:
        self._grow(owner, granules, granules)

    def reserve(self, slots: Integers, granules: Integers) -> None:
        """Has slots be ready for so many granules more, as far as one extent goes; kernels ask for what is lacking."""
        fields = self._memory.header.fields
        lacking = fields[Field.CHUNK_NEXT, slots] + granules > fields[Field.CHUNK_END, slots]
        for slot, wanted in zip(slots[lacking].tolist(), granules[lacking].tolist(), strict=True):
            self._grow(slot, 0, wanted)

    def reserve_first(self, slots: Integers, keys: Integers) -> None:
        """The same for the first chunks of so many keys."""
        self.reserve(slots, keys * int(self.layout.granules[0]))

    def in_use(self) -> list[tuple[int, int]]:
        """Where all granules are that have memory; only under the allocation lock."""
        fields = self._memory.header.fields
        found = []
        for slot, used in enumerate(fields[Field.CHUNK_EXTENTS_USED].tolist()):
            ranges = self._extents(slot, used)
            found += [*ranges[:-1], *((start, int(fields[Field.CHUNK_END, slot])) for start, _ in ranges[-1:])]
        return found

    def of(self, slots: Integers) -> list[tuple[int, int]]:
        """Where the extents of slots are."""
        owned = self._memory.header.fields[Field.CHUNK_EXTENTS, slots].tolist()
        return [
            found for slot, count in zip(slots.tolist(), owned, strict=True) for found in self._extents(slot, count)
        ]

    def _extents(self, slot: int, count: int) -> list[tuple[int, int]]:
        starts = self._memory.header.chunk_extents[slot, :count]
        return list(zip(starts.tolist(), (starts + extent_units(np.arange(count), self.shift)).tolist(), strict=True))

    def _grow(self, slot: int, needed: int, wanted: int) -> None:
        """Reserves memory behind what a slot has, or begins with its next extent where less than `needed` is left."""
        with self._memory.locks.allocation():
            fields = self._memory.header.fields
            if int(fields[Field.CHUNK_NEXT, slot]) + max(needed, 1) > self._stop(slot):
                self._begin_extent(slot, int(fields[Field.CHUNK_EXTENTS_USED, slot]))
            end = int(fields[Field.CHUNK_END, slot])
            step = max(int(self.granules(np.array([slot]))[0]) // _STEP_SHARE, self._page)
            new = min(max(int(fields[Field.CHUNK_NEXT, slot]) + wanted, end + step), self._stop(slot))
            self._memory.back_chunks(end, new)
            fields[Field.CHUNK_END, slot] = new

    def _begin_extent(self, slot: int, number: int) -> None:
        header = self._memory.header
        if number == int(header.fields[Field.CHUNK_EXTENTS, slot]):
            self._allot(slot, number)
        fields, start = header.fields, header.chunk_extents[slot, number]
        fields[Field.CHUNK_END, slot] = fields[Field.CHUNK_NEXT, slot] = start
        fields[Field.CHUNK_EXTENTS_USED, slot] = number + 1

    def _stop(self, slot: int) -> int:
        """Where the extent ends that a slot takes chunks from."""
        used = int(self._memory.header.fields[Field.CHUNK_EXTENTS_USED, slot])
        return self._extents(slot, used)[-1][1] if used else 0

    def _allot(self, slot: int, number: int) -> None:
        """Gives a slot its next extent, which has no memory yet."""
        memory, header = self._memory, self._memory.header
        start = int(header.shared[Shared.CHUNKS_USED])
        used = start + int(extent_units(np.array([number]), self.shift)[0])
        if used > _GRANULES_MAX or number >= EXTENTS_MAX:
            raise StateError(f"the state in '{memory.directory}' is full: a host holds {GRANULE * _GRANULES_MAX:,} "
                             "entries of windows; use more hosts")  # fmt: skip
        memory.lengthen_chunks(used)
        # In this order a process that dies here loses some addresses, and never gives them to two.
        header.shared[Shared.CHUNKS_USED] = used
        header.chunk_extents[slot, number] = start
        header.fields[Field.CHUNK_EXTENTS, slot] = number + 1


def _extent_starts(extents: Integers, shift: int) -> Integers:
    """How many units are in the extents before one."""
    first = np.left_shift(extents, shift)
    later = np.left_shift(np.left_shift(4 + extents % 4, np.maximum(extents // 4 - 1, 0)), shift)
    return np.where(extents < 8, first, later)
