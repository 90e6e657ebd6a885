"""The files that a source has found so far, in the order found: this makes a growing directory replayable."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import file_error
from penstock.host.atomic_file import make_folder, open_new, sync, write_whole


@dataclass(frozen=True, slots=True)
class LoggedFile:
    """A file as it was found; logs of before have the path alone.

    `rows` counts lines of CSV.  `arrived_s` is in seconds since 1970: the later of the file's modification time and of
    the listing before the one that found it.
    """

    path: str
    size_bytes: int | None = None
    rows: int | None = None
    arrived_s: float | None = None

    def to_line(self) -> str:
        """One line of the log."""
        body = {"path": self.path, "bytes": self.size_bytes, "rows": self.rows, "arrived_s": self.arrived_s}
        return json.dumps(body) + "\n"


class LogView:
    """The lines of a log, read on from where the last look ended; another process may append to it."""

    def __init__(self, path: Path) -> None:
        self._path, self._bytes = path, 0
        self.files: list[LoggedFile] = []

    def __len__(self) -> int:
        return len(self.files)

    def refresh(self) -> None:
        """Takes in the whole lines that have come since the last time."""
        if not self._path.is_file():
            return
        with self._path.open("rb") as log:
            log.seek(self._bytes)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self.files += [_read(line) for line in whole.decode().split("\n")[:-1]]
        self._bytes += len(whole)


class FileLog(LogView):
    """The log in the hands of the one who writes it; a line that was cut off by a crash does not count."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.refresh()
        if path.is_file() and path.stat().st_size > self._bytes:  # the lines that count must be there at every moment
            whole = path.read_bytes()[: self._bytes]
            write_whole("repairing the log of files", str(path), whole, durable=True)
        self._known = {file.path for file in self.files}

    def __contains__(self, path: str) -> bool:
        return path in self._known

    def add(self, found: Sequence[LoggedFile]) -> None:
        """Appends the files that are new."""
        new = [file for file in found if file.path not in self._known]
        if not new:
            return
        lines = "".join(file.to_line() for file in new).encode()
        try:
            self._append(lines)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.truncate(self._path, self._bytes)  # half a line: the next one would be lost with it
            raise file_error("writing the log of files", str(self._path), error) from error
        self._bytes += len(lines)
        self.files += new
        self._known.update(file.path for file in new)

    def _append(self, lines: bytes) -> None:
        is_new = not self._bytes
        make_folder(str(self._path.parent), durable=True)
        with os.fdopen(open_new(str(self._path), os.O_WRONLY | os.O_APPEND), "ab", buffering=0) as file:
            while lines:
                lines = lines[file.write(lines) :]
            os.fsync(file.fileno())  # offsets that Spark has on disk count these lines
        if is_new:
            sync(str(self._path.parent))


def _read(line: str) -> LoggedFile:
    """A line of the log; those of before are the path alone, which begins with a slash."""
    if not line.startswith("{"):
        return LoggedFile(line.replace("%0A", "\n").replace("%25", "%"))
    body = json.loads(line)
    return LoggedFile(body["path"], body["bytes"], body["rows"], body["arrived_s"])
