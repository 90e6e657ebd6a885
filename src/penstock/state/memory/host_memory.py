"""The state of one operator on one host: files in memory that all its workers map."""

from __future__ import annotations

import errno
import hashlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import MOVED, StateError, StateFileError, StateMovedError, file_error
from penstock.kernels.windows.count.chunks import GRANULE, ChunkLayout
from penstock.state.extents import EXTENTS_MAX, Integers, extent_units, extents_for
from penstock.state.memory.header import Field, Header, Shared
from penstock.state.memory.host_directory import LEAST_BYTES, HostDirectory, free_bytes
from penstock.state.memory.key_codec import KeyCodec
from penstock.state.memory.locks import SlotLocks
from penstock.state.memory.mapped_chunks import CHUNKS_PER_EXTENT, GRANULES_AT_FIRST, MappedChunks
from penstock.state.memory.mapped_rows import MappedRows

# A slot's first extent is about so large; wide rows come one by one.
_FIRST_EXTENT_BYTES = 2048
_FIRST_TEXT_SHIFT = 6
_ROWS_AT_FIRST = 1 << 16
_TEXT_AT_FIRST = 1 << 20
_LOCK_PATIENCE_S = 30.0
# Longer rows are filled bit by bit, so memory for them is taken as they are touched and not before.
_WIDE_ROW_BYTES = 4096
_TOUCHED_BYTES = 32 << 10  # of such a row by one tuple, at most: a page of each of its columns and sums
_WRITERS = 4  # that may find the same free memory at once
# Kernels number groups by int32, and row 0 is nobody's.
_ROWS_MAX = (1 << 31) - 2


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Rows of state: the key's types, words of values and of nulls, types of the columns that they come from.

    `chunks`: where the entries of a row lie that has a table of them.
    """

    slots: int
    key_types: tuple[pa.DataType, ...]
    words: int
    null_words: int = 0
    tuple_types: tuple[pa.DataType, ...] = ()
    chunks: ChunkLayout | None = None

    @property
    def fingerprint(self) -> str:
        """Differs where the files of another layout, or of another header, could not be read."""
        chunks = "" if self.chunks is None else f" {self.chunks.first.tolist()} {CHUNKS_PER_EXTENT} next"
        return hashlib.blake2b(f"{self} {list(Field)}{chunks}".encode(), digest_size=6).hexdigest()

    @property
    def has_nulls(self) -> bool:
        """Whether there can be words about nulls."""
        return self.null_words > 0 or (self.chunks is not None and self.chunks.entry_nulls > 0)

    @property
    def is_wide(self) -> bool:
        return 8 * self.words > _WIDE_ROW_BYTES

    @property
    def row_shift(self) -> int:
        row_bytes = 8 * max(self.words, 1)
        return max((_FIRST_EXTENT_BYTES // row_bytes).bit_length() - 1, 0)


class HostMemory:
    """Header, locks and tables of an operator; group g has row g + 1 of every table."""

    def __init__(self, place: HostDirectory, layout: RowLayout) -> None:
        self.place = place
        self.layout, self.codec = layout, KeyCodec(layout.key_types)
        self._is_text = self.codec.is_text
        self.pool = None if layout.chunks is None else MappedChunks(self, layout.chunks)
        # As of the last `follow`: within a task, logs and kernels see one answer whatever other processes do.
        self.has_nulls = False
        self._must_have_nulls = False  # this process's kernels write them, to files that it opens later, too
        self.attachments = 0  # how often the files were opened; what is known of earlier ones is void
        self._attach()

    @property
    def group_limit(self) -> int:
        """All groups have lower numbers."""
        return int(self.header.shared[Shared.ROWS_USED])

    @property
    def row_words(self) -> int:
        """Words that a row has in a log, without the entries that lie in chunks."""
        words = self.layout.words if self.layout.chunks is None else self.layout.chunks.fixed
        return words + (self.layout.null_words if self.has_nulls else 0)

    @property
    def entry_words(self) -> int:
        """Words that each entry in a chunk has in a log."""
        chunks = self.layout.chunks
        return 0 if chunks is None else chunks.entry_words + (chunks.entry_nulls if self.has_nulls else 0)

    def table(self, words: int, about_nulls: bool) -> MappedRows:
        """The table a kernel works on (its `make_rows`); nulls are everyone's matter from then on."""
        if words != (self.layout.null_words if about_nulls else self.layout.words):
            raise StateError(f"a kernel wants rows of {words} words where its layout has {self.layout}")
        if about_nulls:
            self.use_nulls()
        return self.nulls if about_nulls else self.words

    def pooled(self, layout: ChunkLayout) -> MappedChunks:
        """Where a kernel's chunks come from (its `make_chunks`)."""
        if self.pool is None or layout != self.layout.chunks:
            raise StateError(f"a kernel wants chunks of {layout} where its layout has {self.layout}")
        return self.pool

    def use_nulls(self) -> None:
        """Has rows of nulls kept and logged, from now on and in all files that are opened instead of these."""
        self._must_have_nulls = True
        if not self.has_nulls:
            with self.locks.allocation():
                self._back([self.nulls], 0, self.group_limit + 1)
                for start, stop in [] if self.pool is None else self.pool.in_use():
                    self._back([self.chunk_nulls], start, stop)
                self.header.shared[Shared.HAS_NULLS] = 1
            self.has_nulls = True

    def follow(self, *, to_fill: bool = True) -> None:
        """Sees what other processes have done since: files made longer, or the directory wiped, or left for the disk.

        Before slots are locked: their locks would be those of other files.  `to_fill`: there has to be some room for
        more, and where there is none this host goes on in another directory.
        """
        if not self.locks.is_same_file():
            self._attach_again()
        if to_fill and free_bytes(self.directory) < LEAST_BYTES:
            if self.place.leave():
                self._attach_again()
            elif self.layout.is_wide:
                raise self._full()
        self.see_growth()
        if self._must_have_nulls:
            self.use_nulls()

    def see_growth(self) -> None:
        """Sees files that other processes have made longer; also while slots are held."""
        self._map_all()
        self.has_nulls = bool(self.header.shared[Shared.HAS_NULLS])

    def require_space(self, tuples: int) -> None:
        """Raises where so many tuples could touch more of wide rows, which have no memory yet, than there is.

        Writing to it would be a bus error, which ends the process.
        """
        row_bytes = 8 * self.layout.words
        if not self.layout.is_wide:
            return
        free = free_bytes(self.directory) - LEAST_BYTES
        if free < _WRITERS * tuples * min(row_bytes, _TOUCHED_BYTES):
            untouched = self.group_limit * row_bytes - self.words.memory_bytes
            if free < untouched:
                raise self._moved() or self._full()

    def reserve(self, slots: Integers, keys: Integers, text: Integers) -> None:
        """Makes room for so many keys and bytes of text in each slot; all slots are locked by the caller."""
        fields, shift = self.header.fields, self.layout.row_shift
        rows, texts = extents_for(keys, shift), extents_for(text, _FIRST_TEXT_SHIFT)
        lacks_rows = (rows > fields[Field.ROW_EXTENTS_BACKED, slots]).any()
        lacks_text = (texts > fields[Field.TEXT_EXTENTS_BACKED, slots]).any()
        if not lacks_rows and not lacks_text:
            return
        with self.locks.allocation():
            if lacks_rows:
                self._back_again(slots, rows, is_text=False)
                self._allot_rows(slots, rows)
            if lacks_text:
                self._back_again(slots, texts, is_text=True)
                self._allot_text(slots, texts)
            self._map_all()  # another process may have made the files longer than this one knows them

    def give_back(self, slots: Integers) -> None:
        """Gives the memory of empty slots back; where it lay stays theirs.  All slots are locked by the caller."""
        fields = self.header.fields
        for is_text in (False, True):
            have, backed, _, _ = self._own_extents(is_text=is_text)
            ranges = self._ranges(slots, np.zeros(len(slots), np.int64), fields[have, slots], is_text=is_text)
            fields[backed, slots] = 0  # first: who dies here has given back less than is known
            tables = (self.text,) if is_text else (self.words, self.nulls, self.keys)
            given = [table.give_back(start, stop) for start, stop in ranges for table in tables]
            if not is_text and all(given):
                fields[Field.ROWS_EVER, slots] = 0  # all zeros, so that nobody need write them again

        if self.pool is not None:
            for start, stop in self.pool.of(slots):
                self.chunks.give_back(start, stop)
                self.chunk_nulls.give_back(start, stop)

    def lengthen_chunks(self, granules: int) -> None:
        """Makes the files hold so many granules; only under the allocation lock."""
        shared = self.header.shared
        if granules > shared[Shared.CHUNKS_CAPACITY]:
            capacity = _doubled(int(shared[Shared.CHUNKS_CAPACITY]), granules)
            for table in self._chunk_tables:
                table.lengthen(capacity)
            shared[Shared.CHUNKS_CAPACITY] = capacity
        self._map_all()

    def back_chunks(self, start: int, stop: int) -> None:
        """Reserves memory for granules; only under the allocation lock."""
        self._back([self.chunks, *([self.chunk_nulls] if self.header.shared[Shared.HAS_NULLS] else [])], start, stop)

    def chunk_view(self) -> tuple[Any, ...]:
        """What kernels need of chunks: who has which, where entries lie, and the tables with their widths."""
        assert self.pool is not None
        layout = self.pool.layout
        nulls = layout.entry_nulls if self.has_nulls else 0
        tables = (self.chunks.integers, layout.entry_words, self.chunk_nulls.integers, nulls)
        return (layout.view(), layout.fixed, layout.entry_nulls, *self.pool.ranges, *tables)

    def view(self) -> tuple[Any, ...]:
        """What kernels need of it, in the order in which they unpack it."""
        header, layout = self.header, self.layout
        rows = (header.row_extents, layout.row_shift, header.text_extents, _FIRST_TEXT_SHIFT)
        keys = (self.keys.integers, self.keys.words, self._is_text, self.text.integers.view(np.uint8))
        nulls = layout.null_words if self.has_nulls else 0
        return (header.fields, *rows, *keys, self.words.integers, layout.words, self.nulls.integers, nulls)

    def _attach_again(self) -> None:
        first_row = self.words.rows(0, 1).copy()
        self._attach()
        self.words.rows(0, 1)[:] = first_row

    def _attach(self) -> None:
        try:
            self._open_files()
        except OSError as error:
            if error.errno != errno.ENOSPC or not self.place.leave():
                raise file_error("opening the host's state in", self.directory, error) from error
            self._attach()

    def _open_files(self) -> None:
        self.directory = os.path.join(self.place.path, self.layout.fingerprint)
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        self.locks = SlotLocks(self._path("locks"), _LOCK_PATIENCE_S)
        with self.locks.allocation():
            self.header = Header(self._path("header"), self.layout.slots, has_chunks=self.layout.chunks is not None)
            if not self.header.is_ready:
                self.header.shared[Shared.CHUNKS_CAPACITY] = GRANULES_AT_FIRST
                self.header.shared[Shared.ROWS_CAPACITY] = _ROWS_AT_FIRST
                self.header.shared[Shared.TEXT_CAPACITY] = _TEXT_AT_FIRST
            self._open_tables()
            self.words.back(0, 1)
            self.header.make_ready()
        self.attachments += 1

    def _open_tables(self) -> None:
        sizes = {"words": self.layout.words, "nulls": self.layout.null_words, "keys": self.codec.words, "text": 1}
        if self.layout.chunks is not None:
            sizes["chunks"] = GRANULE * self.layout.chunks.entry_words
            sizes["chunk_nulls"] = GRANULE * self.layout.chunks.entry_nulls
        for name, words in sizes.items():
            if hasattr(self, name):
                getattr(self, name).attach(self._path(name))
            else:
                setattr(self, name, MappedRows(self._path(name), words))
        for table in (self.words, self.nulls, self.keys):
            table.lengthen(int(self.header.shared[Shared.ROWS_CAPACITY]) + 1)
        self.text.lengthen(int(self.header.shared[Shared.TEXT_CAPACITY]) // 8)
        for table in self._chunk_tables:
            table.lengthen(int(self.header.shared[Shared.CHUNKS_CAPACITY]))

    words: MappedRows
    nulls: MappedRows
    keys: MappedRows
    text: MappedRows
    chunks: MappedRows  # these two where the layout has chunks
    chunk_nulls: MappedRows

    @property
    def _chunk_tables(self) -> tuple[MappedRows, ...]:
        return () if self.layout.chunks is None else (self.chunks, self.chunk_nulls)

    def _path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def _map_all(self) -> None:
        for table in (self.words, self.nulls, self.keys):
            table.grow(int(self.header.shared[Shared.ROWS_CAPACITY]) + 1)
        self.text.grow(int(self.header.shared[Shared.TEXT_CAPACITY]) // 8)
        for table in self._chunk_tables:
            table.grow(int(self.header.shared[Shared.CHUNKS_CAPACITY]))

    @property
    def _backed_tables(self) -> list[MappedRows]:
        """The tables of rows that memory is reserved for."""
        nulls = [self.nulls] if self.header.shared[Shared.HAS_NULLS] else []
        return [self.keys, *nulls, *([] if self.layout.is_wide else [self.words])]

    def _own_extents(self, *, is_text: bool) -> tuple[Field, Field, Integers, int]:
        """Which extents slots have, and which of them have memory; where they lie, and how long the first one is."""
        if is_text:
            return Field.TEXT_EXTENTS, Field.TEXT_EXTENTS_BACKED, self.header.text_extents, _FIRST_TEXT_SHIFT
        return Field.ROW_EXTENTS, Field.ROW_EXTENTS_BACKED, self.header.row_extents, self.layout.row_shift

    def _ranges(self, slots: Integers, first: Integers, stop: Integers, *, is_text: bool) -> list[tuple[int, int]]:
        """Where the extents `first` to `stop` of slots lie in their tables, those side by side in one."""
        _, _, places, shift = self._own_extents(is_text=is_text)
        owners, numbers = _numbered(slots, first, stop)
        starts, units = places[owners, numbers], extent_units(numbers, shift)
        order = np.argsort(starts)
        starts, stops = starts[order], (starts + units)[order]
        begins = np.flatnonzero(np.append(True, starts[1:] != stops[:-1])) if len(starts) else np.empty(0, np.int64)
        ends = np.append(begins[1:], len(starts)) - 1 if len(starts) else begins
        pairs = zip(starts[begins].tolist(), stops[ends].tolist(), strict=True)
        # Row 0 is nobody's; text lies in words of eight bytes, and extents begin and end with one.
        return [(a // 8, b // 8) if is_text else (a + 1, b + 1) for a, b in pairs]

    def _back_again(self, slots: Integers, extents: Integers, *, is_text: bool) -> None:
        """Reserves memory for extents that slots have, and gave back."""
        fields = self.header.fields
        have, backed, _, _ = self._own_extents(is_text=is_text)
        known = np.minimum(extents, fields[have, slots])
        for start, stop in self._ranges(slots, fields[backed, slots], known, is_text=is_text):
            self._back([self.text] if is_text else self._backed_tables, start, stop)
        fields[backed, slots] = np.maximum(fields[backed, slots], known)

    def _allot_rows(self, slots: Integers, extents: Integers) -> None:
        shared = self.header.shared
        place = self.header.fields[Field.ROW_EXTENTS]
        owners, numbers, starts, used = _extents(slots, place, extents, shared[Shared.ROWS_USED], self.layout.row_shift)
        if used > _ROWS_MAX or extents.max() > EXTENTS_MAX:
            raise StateError(f"the state in '{self.directory}' is full: a host holds {_ROWS_MAX} keys; use more hosts")
        if used > shared[Shared.ROWS_CAPACITY]:
            capacity = _doubled(int(shared[Shared.ROWS_CAPACITY]), used)
            for table in (self.words, self.nulls, self.keys):
                table.lengthen(capacity + 1)
            shared[Shared.ROWS_CAPACITY] = capacity
        self._back(self._backed_tables, int(shared[Shared.ROWS_USED]) + 1, used + 1)
        # In this order a process that dies here loses some memory, and never gives it to two.
        shared[Shared.ROWS_USED] = used
        self.header.row_extents[owners, numbers] = starts
        place[slots] = np.maximum(place[slots], extents)
        self._note_backed(Field.ROW_EXTENTS_BACKED, slots, extents)

    def _allot_text(self, slots: Integers, extents: Integers) -> None:
        shared, place = self.header.shared, self.header.fields[Field.TEXT_EXTENTS]
        owners, numbers, starts, used = _extents(slots, place, extents, shared[Shared.TEXT_USED], _FIRST_TEXT_SHIFT)
        if extents.max() > EXTENTS_MAX:
            raise StateError(f"the state in '{self.directory}' is full: the text of one slot's keys is too long")
        if used > shared[Shared.TEXT_CAPACITY]:
            capacity = _doubled(int(shared[Shared.TEXT_CAPACITY]), used)
            self.text.lengthen(capacity // 8)
            shared[Shared.TEXT_CAPACITY] = capacity
        self._back([self.text], int(shared[Shared.TEXT_USED]) // 8, -(-used // 8))
        shared[Shared.TEXT_USED] = used
        self.header.text_extents[owners, numbers] = starts
        place[slots] = np.maximum(place[slots], extents)
        self._note_backed(Field.TEXT_EXTENTS_BACKED, slots, extents)

    def _note_backed(self, backed: Field, slots: Integers, extents: Integers) -> None:
        self.header.fields[backed, slots] = np.maximum(self.header.fields[backed, slots], extents)

    def _moved(self) -> StateMovedError | None:
        """Has this host go on elsewhere: the task at hand ends, and its next attempt rebuilds its slots there."""
        if not self.place.leave() and not (self.place.is_left and not self.locks.is_same_file()):
            return None
        return StateMovedError(f"there is no space for state in '{self.directory}'; {MOVED} '{self.place.path}'")

    def _full(self) -> StateFileError:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return file_error("reserving memory for state in", self.directory, full)

    def _back(self, tables: list[MappedRows], start: int, stop: int) -> None:
        try:
            for table in tables:
                table.back(start, stop)
        except OSError as error:
            moved = self._moved() if error.errno == errno.ENOSPC else None
            raise (moved or file_error("reserving memory for state in", self.directory, error)) from error


def _extents(
    slots: Integers, have: Integers, needed: Integers, used: int, shift: int
) -> tuple[Integers, Integers, Integers, int]:
    """New extents: whose, which of its, where they begin; and the units in use with them."""
    owners, numbers = _numbered(slots, have[slots], needed)
    units = extent_units(numbers, shift)
    stops = used + np.cumsum(units)
    return owners, numbers, stops - units, int(used + units.sum())


def _numbered(slots: Integers, first: Integers, stop: Integers) -> tuple[Integers, Integers]:
    """The extents `first` to `stop` of each slot: whose, which of its."""
    counts = np.maximum(stop - first, 0)
    owners = np.repeat(slots, counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    return owners, np.arange(len(owners)) - before + np.repeat(first, counts)


def _doubled(capacity: int, needed: int) -> int:
    while capacity < needed:
        capacity *= 2
    return capacity
