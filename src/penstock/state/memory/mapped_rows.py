"""Rows of words in a memory-mapped file that all workers of a host share."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

_WORD_BYTES = 8
_KEEP_SIZE_AND_PUNCH_HOLE = 0x01 | 0x02  # linux/falloc.h


def _punch(descriptor: int, offset: int, length: int) -> bool:
    """Makes a hole in a file, where its file system has such."""
    return bool(_libc().fallocate(descriptor, _KEEP_SIZE_AND_PUNCH_HOLE, offset, length) == 0)


@functools.cache
def _libc() -> Any:
    libc = ctypes.CDLL(None)
    libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return libc


class MappedRows:
    """A `RowTable` over a file, sparse where no row was reserved; row 0 belongs to no group.

    Another process may make the file longer; `grow` then maps it anew (the pages are the same), so read `integers` and
    `floats` after it.
    """

    __slots__ = ("_descriptor", "capacity", "floats", "integers", "words")

    def __init__(self, path: str, words: int) -> None:
        self.words = words
        self._descriptor: int | None = None
        self.attach(path)

    def attach(self, path: str) -> None:
        """Opens the file (again)."""
        self.close()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.capacity = 0
        self._look()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def lengthen(self, rows: int) -> None:
        """Makes the file hold at least so many rows; only under the allocation lock."""
        assert self._descriptor is not None
        needed = max(rows * self.words * _WORD_BYTES, mmap.PAGESIZE)
        if os.fstat(self._descriptor).st_size < needed:
            os.ftruncate(self._descriptor, needed)
        self.grow(rows)

    def back(self, start: int, stop: int) -> None:
        """Reserves memory for some rows, so that a full disk raises OSError now and writing to them cannot fail."""
        assert self._descriptor is not None
        if self.words and stop > start:
            row_bytes = self.words * _WORD_BYTES
            os.posix_fallocate(self._descriptor, start * row_bytes, (stop - start) * row_bytes)

    def give_back(self, start: int, stop: int) -> bool:
        """Leaves the memory of some rows to the machine; False where the file system cannot, and nothing happens.

        They are zeros from now on.
        """
        assert self._descriptor is not None
        row_bytes = self.words * _WORD_BYTES
        is_any = self.words > 0 and stop > start
        return not is_any or _punch(self._descriptor, start * row_bytes, (stop - start) * row_bytes)

    @property
    def memory_bytes(self) -> int:
        """Memory of those rows that have some."""
        assert self._descriptor is not None
        return os.fstat(self._descriptor).st_blocks * 512

    def grow(self, rows: int) -> None:
        """Maps at least so many rows; the file has them."""
        if rows > self.capacity:
            self._look()

    def rows(self, start: int, stop: int) -> npt.NDArray[np.int64]:
        return self.integers[start * self.words : stop * self.words].reshape(stop - start, self.words)

    def _look(self) -> None:
        assert self._descriptor is not None
        size = os.fstat(self._descriptor).st_size
        if size == 0:
            self.integers = np.empty(0, np.int64)
        else:
            self.integers = np.frombuffer(mmap.mmap(self._descriptor, size), np.int64)
        self.floats = self.integers.view(np.float64)
        # A row of no words is wherever it is looked for.
        self.capacity = len(self.integers) // self.words if self.words else np.iinfo(np.int64).max
