"""Rows of words that grow in place: zeroed, backed by memory only where touched, and never copied."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

_WORD_BYTES = 8
_ROWS_AT_FIRST = 256
# Python names this flag from 3.13 on; memory that may never be touched must not count against the machine's.
_NORESERVE = 0x4000
# Rows longer than a page are filled bit by bit, so big pages would cost memory long before they are needed.
_HUGE_PAGE_ROW_BYTES_MAX = 4096


class RowTable(Protocol):
    """Where a kernel keeps its rows of words: a process's own memory, or memory that processes share."""

    words: int
    capacity: int
    integers: npt.NDArray[np.int64]
    floats: npt.NDArray[np.float64]

    def grow(self, rows: int) -> None: ...

    def rows(self, start: int, stop: int) -> npt.NDArray[np.int64]: ...


class GrowingRows:
    """A fixed number of int64 words per row, all zero at first; `integers` and `floats` are two views of one memory.

    Growth moves pages (Linux's mremap) instead of copying them, so both views change: read them anew after `grow`.
    """

    __slots__ = ("_memory", "capacity", "floats", "integers", "words")

    def __init__(self, words: int) -> None:
        self.words, self.capacity = words, _ROWS_AT_FIRST
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        self._memory = mmap.mmap(-1, max(self.capacity * words * _WORD_BYTES, mmap.PAGESIZE), flags=flags)
        if words * _WORD_BYTES <= _HUGE_PAGE_ROW_BYTES_MAX:
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        self._look()

    def grow(self, rows: int) -> None:
        """Makes room for at least so many rows, by doubling."""
        if rows <= self.capacity:
            return
        while self.capacity < rows:
            self.capacity *= 2
        del self.integers, self.floats  # a mapping with views on it does not move
        self._memory.resize(max(self.capacity * self.words * _WORD_BYTES, mmap.PAGESIZE))
        self._look()

    def rows(self, start: int, stop: int) -> npt.NDArray[np.int64]:
        """A view of some rows, good until the next growth (which it forbids while it lives)."""
        return self.integers[start * self.words : stop * self.words].reshape(stop - start, self.words)

    def _look(self) -> None:
        self.integers = np.frombuffer(self._memory, np.int64, self.capacity * self.words)
        self.floats = self.integers.view(np.float64)


MakeRows = Callable[[int, bool], RowTable]


def own_rows(words: int, about_nulls: bool) -> RowTable:
    """A table in this process's memory; values and nulls alike."""
    return GrowingRows(words)
