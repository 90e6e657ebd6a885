"""The whole lines that were added to a file since the last look; a file that goes on in a new part is followed."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.control.journal.parts import part_before

_MOST_BYTES = 8 << 20  # of one look
_LONGEST_LINE = 16 << 20  # a longer one is not a journal's


class Tail:
    """Follows one file; `from_end` bytes of it are read at first, all where that is None."""

    def __init__(self, path: Path, from_end: int | None = None) -> None:
        self.path, self._inode, self._at = path, -1, 0
        self._rest = b""
        self._skips = False  # up to the next line: it begins in the middle of one
        self._begin(from_end)

    def _begin(self, from_end: int | None = None) -> None:
        self._rest, self._skips, self._at = b"", False, 0
        try:
            found = os.stat(self.path)
        except OSError:
            self._inode = -1
            return
        self._inode = found.st_ino
        if from_end is not None and found.st_size > from_end:
            self._at, self._skips = found.st_size - from_end, True

    @property
    def begins_in_the_middle(self) -> bool:
        return self._skips

    def lines(self) -> list[bytes]:
        """New whole lines, in their order."""
        found: list[bytes] = []
        try:
            now = os.stat(self.path)
        except OSError:
            return found
        if self._inode >= 0 and now.st_ino != self._inode:
            found += self._read(part_before(self.path))  # what was added before the new part began
            self._begin()
        elif self._inode < 0 or now.st_size < self._at:  # it is there now, or was cut back
            self._begin()
        return found + self._read(self.path)

    def _read(self, path: Path) -> list[bytes]:
        try:
            with path.open("rb") as file:
                file.seek(self._at)
                data = file.read(_MOST_BYTES)
        except OSError:
            return []
        self._at += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            self._rest, self._skips = b"", True
        if self._skips and whole:
            self._skips = False
            whole = whole[1:]
        return [line for line in whole if line and len(line) <= _LONGEST_LINE]

    @property
    def has_more(self) -> bool:
        """Whether the file has more than was read."""
        try:
            return os.stat(self.path).st_size > self._at
        except OSError:
            return False
