"""The tuples of a task, noted as they come, to be logged where that is shorter than the rows they change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.block.column import FixedColumn
from penstock.kernels.windows.count.chunks import GRANULE
from penstock.state.extents import Integers
from penstock.state.memory.host_memory import HostMemory
from penstock.state.rows.key_cache import Ids

NUMBER_BYTES = 4
_TUPLES_AT_FIRST = 1 << 14


class RecordedTuples:
    """Key ids and values of a task's tuples, until they take more bytes than all rows could.

    Copied into memory that stays from task to task: fresh pages cost more than the copying.
    """

    def __init__(self, memory: HostMemory) -> None:
        self._memory, self._columns = memory, len(memory.layout.tuple_types)
        self.values: Integers = np.empty((self._columns + 1, _TUPLES_AT_FIRST), np.int64)  # the last one marks nulls
        self._ids: Ids = np.empty(_TUPLES_AT_FIRST, np.int32)
        self.start(0, np.empty(0, np.int64))

    def start(self, keys: int, slots: Integers) -> None:
        """Begins anew, for slots that have so many keys."""
        self._keys, self.count, self.is_complete, self.has_nulls = keys, 0, True, False
        pool = self._memory.pool
        self._entries = 0 if pool is None else GRANULE * int(pool.granules(slots).sum())

    @property
    def ids(self) -> Ids:
        return self._ids[: self.count]

    @property
    def words(self) -> int:
        """Words of a tuple in the log, without its key."""
        return self._columns + self.has_nulls

    @property
    def bytes(self) -> int:
        return self.count * (NUMBER_BYTES + 8 * self.words)

    def add(self, ids: Ids, columns: Sequence[FixedColumn], touched: int) -> None:
        """Notes a block, unless all rows (of the keys there were, or of those touched so far) are shorter already."""
        if not self.is_complete:
            return
        start, self.count = self.count, self.count + len(ids)
        if self.bytes > 8 * (self._memory.row_words * max(self._keys, touched) + self._most_entry_words):
            self.is_complete = False
            return
        self._reserve()
        self._ids[start : self.count] = ids
        self.values[-1, start : self.count] = 0
        for place, column in enumerate(columns):
            _copy_bits(column, self.values[place, start : self.count])
            if column.valid is not None:
                self.has_nulls = True
                self.values[-1, start : self.count] |= (~column.valid).astype(np.int64) << place

    def is_shorter(self, touched: int, entries: int) -> bool:
        """Whether logging the tuples takes fewer bytes than logging so many rows, with so many entries in chunks."""
        rows_bytes = touched * (NUMBER_BYTES + 8 * self._memory.row_words) + 8 * entries * self._memory.entry_words
        return self.is_complete and self.count > 0 and self.bytes < rows_bytes

    @property
    def _most_entry_words(self) -> int:
        """Of the entries in chunks that rows can have: those there were, and one for each tuple."""
        return self._memory.entry_words * (self._entries + self.count)

    def _reserve(self) -> None:
        have = len(self._ids)
        if self.count <= have:
            return
        while have < self.count:
            have *= 2
        values, ids = np.empty((len(self.values), have), np.int64), np.empty(have, np.int32)
        values[:, : len(self._ids)], ids[: len(self._ids)] = self.values, self._ids
        self.values, self._ids = values, ids


def _copy_bits(column: FixedColumn, words: Integers) -> None:
    """A column's values as words, to the bit."""
    target = words.view(np.float64) if column.values.dtype.kind == "f" else words
    target[:] = column.values.view(np.int64) if column.values.dtype == np.uint64 else column.values
