"""Memory for the entries of long windows, piece by piece: a window takes a chunk when its entries reach it.

A group's row has a table of its chunks.  Chunk i holds the entries from `first[i]` on; each is about a quarter as long
as those before it together, so that entries are never copied, no memory is left behind, and at most a quarter and
`FIRST` entries are reserved that are not there yet.  A full window has room for its own size, to a granule.

Chunks begin and end at granules of 4 entries.  The table says, in 32 bits, at which granule entry 0 would be if the
chunk went so far: entry s of a group lies at 4 * table[chunk of s] + s.  Before it stands what most tuples need, in one
word: what the head says when the next entry's chunk is full, and (in the upper half) the table's word for it.  While
that chunk is not there yet, the word is about the newest entry's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from numba import njit

from penstock.kernels.windows.count.growing import GrowingRows, RowTable

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

GRANULE = 4
FIRST = 8  # entries of a group's first chunk
_GROWTH = 4  # the next chunk has a 4th of the entries before it
_CHUNK_BYTES_MAX = 16 << 10  # so that memory is handed out in small pieces, however long windows are
_GRANULES_MAX = (1 << 31) - 1
NEXT = 2  # numbers before the table, read as one word


@dataclass(frozen=True, slots=False)
class ChunkLayout:
    """Where the entries of a group lie: its row has `fixed` words, then the table of chunks.

    `head_at` is the place of the number of entries among the words, which at `wrap` is a window less; an entry has
    `entry_words` words and `entry_nulls` about nulls.
    """

    full: int
    entry_words: int
    entry_nulls: int
    fixed: int
    head_at: int
    wrap: int

    @cached_property
    def first(self) -> Numbers:
        """The first entry of each chunk, and where the last one ends."""
        most = max(_CHUNK_BYTES_MAX // (8 * max(self.entry_words, self.entry_nulls, 1)), FIRST)
        firsts = [0]
        while firsts[-1] < self.full:
            entries = firsts[-1] // _GROWTH // GRANULE * GRANULE + FIRST
            firsts.append(firsts[-1] + min(entries, most // GRANULE * GRANULE))
        firsts[-1] = -(-self.full // GRANULE) * GRANULE
        return np.array(firsts, np.int32)

    @cached_property
    def granules(self) -> Numbers:
        """How long each chunk is."""
        return (np.diff(self.first) // GRANULE).astype(np.int32)

    @cached_property
    def chunk_of(self) -> Numbers:
        """The chunk of each entry."""
        return np.repeat(np.arange(len(self.granules)), np.diff(self.first))[: self.full].astype(np.int32)

    @property
    def words(self) -> int:
        """Words of a group's row."""
        return self.fixed + -(-(NEXT + len(self.granules)) // 2)

    @property
    def granule_bytes(self) -> int:
        return 8 * GRANULE * self.entry_words

    @property
    def granules_full(self) -> int:
        """Granules of a window that has been full."""
        return int(self.first[-1]) // GRANULE

    @cached_property
    def tables(self) -> tuple[Numbers, Numbers, Numbers]:
        """What a kernel must know to find entries and to take chunks."""
        return self.chunk_of, self.first, self.granules

    def view(self) -> tuple[Any, ...]:
        """What `held`, `copy_out`, `take` and `settle` must know; the third is where the table begins, in 32 bits."""
        return self.full, self.head_at, 2 * self.fixed + NEXT, self.first, self.granules


class ChunkMemory(Protocol):
    """Where chunks come from: each owner has granules [next, end) to take them from, and gets more by `grow`."""

    @property
    def layout(self) -> ChunkLayout: ...

    @property
    def values(self) -> RowTable:
        """A row per granule."""
        ...

    @property
    def nulls(self) -> RowTable:
        """The same about nulls."""
        ...

    @property
    def ranges(self) -> tuple[Integers, Integers]:
        """Next and end of each owner."""
        ...

    def grow(self, owner: int, granules: int) -> None:
        """Makes room for a chunk of so many granules; arrays of the tables may be others afterwards."""
        ...

    def use_nulls(self) -> None:
        """From now on `nulls` is a table."""
        ...


MakeChunks = Callable[[ChunkLayout], ChunkMemory]
Owners = tuple[Numbers, Numbers]  # the key of each row, and the owner of each key
NO_OWNERS: Owners = (np.empty(0, np.int32), np.empty(0, np.int32))  # there is but one


class OwnChunks:
    """Chunks in this process's memory, all of one owner."""

    def __init__(self, layout: ChunkLayout) -> None:
        self.layout = layout
        self.values: RowTable = GrowingRows(GRANULE * layout.entry_words)
        self.nulls: RowTable = GrowingRows(0)
        self._next, self._end = np.zeros(1, np.int64), np.array([self.values.capacity])
        self.ranges = self._next, self._end

    @property
    def used(self) -> int:
        """Granules that were taken."""
        return int(self._next[0])

    def grow(self, owner: int, granules: int) -> None:
        needed = int(self._next[0]) + granules
        if needed > _GRANULES_MAX:
            raise MemoryError(f"the windows of one operator hold {GRANULE * _GRANULES_MAX:,} entries in a process")
        self.values.grow(needed)
        self.nulls.grow(self.values.capacity)
        self._end[0] = self.values.capacity

    def use_nulls(self) -> None:
        self.nulls = GrowingRows(GRANULE * self.layout.entry_nulls)
        self.nulls.grow(self.values.capacity)


def _held(words, row_at, view):  # type: ignore[no-untyped-def]
    """How many entries the row has whose words begin there."""
    return min(words[row_at + view[1]], view[0])


held: Any = njit(_held)


def _copy_out(table, table_at, view, source, width, count, out, at):  # type: ignore[no-untyped-def]
    """Copies a group's first entries of `width` words to `out`, and gives the place behind them."""
    first, k, done = view[3], 0, 0
    while done < count:
        stop = min(np.int64(first[k + 1]), count)
        place = (4 * np.int64(table[table_at + k]) + done) * width
        for j in range((stop - done) * width):
            out[at + j] = source[place + j]
        at += (stop - done) * width
        done = stop
        k += 1
    return at


copy_out: Any = njit(_copy_out)


def _copy_in(table, table_at, view, target, width, count, source, at):  # type: ignore[no-untyped-def]
    """The reverse of `copy_out`, for a group that has its chunks."""
    first, k, done = view[3], 0, 0
    while done < count:
        stop = min(np.int64(first[k + 1]), count)
        place = (4 * np.int64(table[table_at + k]) + done) * width
        for j in range((stop - done) * width):
            target[place + j] = source[at + j]
        at += (stop - done) * width
        done = stop
        k += 1
    return at


copy_in: Any = njit(_copy_in)


def _take(table, table_at, view, k, before, count, owner, nexts, ends, nulls, null_width):  # type: ignore[no-untyped-def]
    """Takes the chunks that a group with `before` entries lacks for `count`; k: the first one that may be lacking.

    Gives the number of the chunk for which there is no room, or -1.
    """
    first, granules = view[3], view[4]
    while k < len(granules) and first[k] < count:
        if first[k] >= before:
            at = nexts[owner]
            if at + granules[k] > ends[owner]:
                return k
            nexts[owner] = at + granules[k]
            table[table_at + k] = at - first[k] // 4
            for j in range(at * 4 * null_width, (at + granules[k]) * 4 * null_width):
                nulls[j] = 0
        k += 1
    return -1


take: Any = njit(_take)


def _settle(table, table_at, view, count):  # type: ignore[no-untyped-def]
    """Notes the next entry's chunk, or the newest's where that is not there, for a group whose head counts so many."""
    full, first, k = view[0], view[3], 0
    if count == 0:
        table[table_at - 2] = table[table_at - 1] = 0
        return
    place = count - 1 if count < full else count % full
    while first[k + 1] <= place:
        k += 1
    passes = 0 if count < full else count - place
    table[table_at - 2] = passes + min(np.int64(first[k + 1]), full)
    table[table_at - 1] = table[table_at + k]


settle: Any = njit(_settle)
