"""Files of a growing directory that are there and were not taken, in tuples."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.connectors.files.file_log import unescaped
from penstock.connectors.files.paths import files_of

_LIST_EVERY_S = 0.5
_SHARE = 0.01  # of a core, at most, for listing
_FRESH_S = 1.0


class FilesWaiting:
    """Told in tuples as files held on average since the start.

    A large directory is listed less often; what came since is taken to have come at the rate between the last two
    lists.  The log says which files were taken, also those that somebody has deleted since.
    """

    arrives = True

    def __init__(
        self,
        path: Path,
        log: Path,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._path, self._log, self._clock, self._cpu_clock = path, log, clock, cpu_clock
        self._there: list[Path] = []  # and not taken
        self._listed_s, self._pause_s = float("-inf"), _LIST_EVERY_S
        self._found, self._rate_s = 0, 0.0  # files up to the last list, and files in a second between the last two
        self._taken: set[str] = set()
        self._read_bytes = 0  # of the log
        self._files = self._tuples = 0  # since the start

    def waiting(self, before: Any, after: Any, tuples: int, now_s: float) -> float | None:
        first, end = _files(before), _files(after)
        self._files, self._tuples = self._files + end - first, self._tuples + tuples
        try:
            untaken = self._untaken(end)
        except OSError:  # the source itself will say so
            return None
        if not untaken:
            return 0.0
        return untaken * self._tuples / self._files if self._files else None

    def _untaken(self, end: int) -> float:
        self._read_log(end)
        moment_s = self._clock()
        if moment_s - self._listed_s >= self._pause_s:
            self._list(moment_s)
        self._there = [file for file in self._there if str(file) not in self._taken]
        since_s = moment_s - self._listed_s
        return len(self._there) + (self._rate_s * since_s if since_s > _FRESH_S else 0.0)

    def _list(self, moment_s: float) -> None:
        begin_s = self._cpu_clock()
        self._there = [file for file in files_of(self._path) if str(file) not in self._taken]
        found = len(self._taken) + len(self._there)
        self._rate_s = max(found - self._found, 0) / max(moment_s - self._listed_s, _LIST_EVERY_S)
        self._found, self._listed_s = found, moment_s
        self._pause_s = max(_LIST_EVERY_S, (self._cpu_clock() - begin_s) / _SHARE)

    def _read_log(self, end: int) -> None:
        """Reads on to so many files."""
        if len(self._taken) >= end:
            return
        with self._log.open("rb") as log:
            log.seek(self._read_bytes)
            for line in log:
                if len(self._taken) >= end or not line.endswith(b"\n"):
                    return
                self._taken.add(unescaped(line.decode().removesuffix("\n")))
                self._read_bytes += len(line)


def _files(offset: Any) -> int:
    return 0 if offset is None else int(offset["files"])
