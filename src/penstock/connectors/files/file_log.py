"""The files that a source has found so far, in the order found: this makes a growing directory replayable."""

from __future__ import annotations

import os
from pathlib import Path


class FileLog:
    """One line per file in the checkpoint; a line that was cut off by a crash does not count."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.files: list[str] = []
        if path.is_file():
            text = path.read_bytes()
            whole = text[: text.rfind(b"\n") + 1]
            if len(whole) < len(text):
                path.write_bytes(whole)
            self.files = [unescaped(line) for line in whole.decode().split("\n")[:-1]]
        self._known = set(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def add(self, found: list[Path]) -> None:
        """Appends the files that are new."""
        new = [str(file) for file in found if str(file) not in self._known]
        if not new:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write("".join(_escaped(name) + "\n" for name in new).encode())
            file.flush()
            os.fsync(file.fileno())  # offsets that Spark has on disk count these lines
        self.files += new
        self._known.update(new)


def _escaped(name: str) -> str:
    return name.replace("%", "%25").replace("\n", "%0A")


def unescaped(line: str) -> str:
    """The name of a file in a line of the log."""
    return line.replace("%0A", "\n").replace("%25", "%")
