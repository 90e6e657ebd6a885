"""Files of a growing directory that are there and were not taken, in tuples."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from penstock.connectors.files.file_log import LogView
from penstock.connectors.files.listing import files_of

_LIST_EVERY_S = 0.5
_SHARE = 0.01  # of a core, at most, for listing
_FRESH_S = 1.0


class FilesWaiting:
    """Rows of the log behind a place, and files that are not in the log yet as the others were on average.

    A large directory is listed less often; what came since is taken to have come at the rate between the last two
    lists.  The log says which files were found, also those that somebody has deleted since.
    """

    def __init__(
        self,
        path: Path,
        log: Path,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._path, self._log, self._clock, self._cpu_clock = path, LogView(log), clock, cpu_clock
        self._there: list[str] = []  # and not in the log
        self._listed_s, self._pause_s = float("-inf"), _LIST_EVERY_S
        self._found, self._rate_s = 0, 0.0  # files up to the last list, and files in a second between the last two
        self._logged: set[str] = set()
        self._rows = [0]  # of so many files of the log

    def waiting(self, files: int, rows: int) -> float | None:
        """Tuples behind some files of the log and rows of the next one; None before any file was seen."""
        try:
            self._read_log()
            unlogged = self._unlogged()
        except OSError:  # the source itself will say so
            return None
        logged = max(self._rows[-1] - self._rows[min(files, len(self._log))] - rows, 0)
        if not unlogged:
            return float(logged)
        return logged + unlogged * self._rows[-1] / len(self._log) if len(self._log) else None

    def _read_log(self) -> None:
        before = len(self._log)
        self._log.refresh()
        for file in self._log.files[before:]:
            self._logged.add(file.path)
            self._rows.append(self._rows[-1] + (file.rows or 0))

    def _unlogged(self) -> float:
        moment_s = self._clock()
        if moment_s - self._listed_s >= self._pause_s:
            self._list(moment_s)
        self._there = [file for file in self._there if file not in self._logged]
        since_s = moment_s - self._listed_s
        return len(self._there) + (self._rate_s * since_s if since_s > _FRESH_S else 0.0)

    def _list(self, moment_s: float) -> None:
        begin_s = self._cpu_clock()
        self._there = [str(file) for file in files_of(self._path) if str(file) not in self._logged]
        found = len(self._logged) + len(self._there)
        self._rate_s = max(found - self._found, 0) / max(moment_s - self._listed_s, _LIST_EVERY_S)
        self._found, self._listed_s = found, moment_s
        self._pause_s = max(_LIST_EVERY_S, (self._cpu_clock() - begin_s) / _SHARE)
