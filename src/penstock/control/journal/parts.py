"""Files of lines that are bounded on disk: one that is long goes on in a new file, and one part before is kept."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Sequence
from pathlib import Path

from penstock.host.atomic_file import open_new


def part_before(path: Path) -> Path:
    """Where a file's part before the newest lies."""
    return path.with_name(f"{path.name}.before")


class PartFile:
    """Lines that are appended; whatever comes after `part_bytes` goes into a new part."""

    def __init__(self, path: Path, part_bytes: int) -> None:
        self.path, self.part_bytes = path, max(part_bytes, 1)
        self._open()

    def _open(self) -> None:
        self.bytes = drop_torn_line(self.path)
        self._file = open_new(str(self.path), os.O_WRONLY | os.O_APPEND)
        self._close = weakref.finalize(self, os.close, self._file)

    def turn(self) -> bool:
        """Begins a new part where this one is long enough; tells whether it did."""
        if self.bytes < self.part_bytes:
            return False
        close = self._close
        if self.path.exists():  # it does not where the new part could not be opened the last time
            self.path.replace(part_before(self.path))
        self._open()
        close()
        return True

    def append(self, lines: Sequence[str]) -> None:
        """Adds lines; all of them or, where the disk is full, none."""
        self.turn()
        self.write("".join(f"{line}\n" for line in lines).encode())

    def write(self, whole: bytes) -> None:
        data = memoryview(whole)
        try:
            while data:  # a disk that fills up takes some of it, and says why with the next
                data = data[os.write(self._file, data) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self.bytes)
            raise
        self.bytes += len(whole)

    def close(self) -> None:
        """Nothing can be written any more."""
        self._close()
        self._file = -1


def drop_torn_line(path: Path) -> int:
    """Cuts a file back to its last whole line and gives its size then; 0 where there is none."""
    if not path.exists():
        return 0
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            begin = max(0, end - 65536)
            file.seek(begin)
            place = file.read(end - begin).rfind(b"\n")
            if place >= 0:
                end = begin + place + 1
                break
            end = begin
        file.truncate(end)
    return end
