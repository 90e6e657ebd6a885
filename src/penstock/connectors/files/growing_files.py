"""Files that come into a directory, as a source behind the port: planned by rows, cut inside files where need be."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.arguments import is_whole
from penstock.connectors.arriving.arrival import LatencyFrom
from penstock.connectors.files.backlog import FilesWaiting
from penstock.connectors.files.file_log import FileLog, LoggedFile, LogView
from penstock.connectors.files.listing import files_of
from penstock.connectors.planned.row_numbers import place_of
from penstock.connectors.planned.source_port import Planning, Split
from penstock.connectors.port import SourceSpec

_LIST_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class FilePlace:
    """So many whole files of the log, then so many rows of the next one; `position` is the format's own, of the cut."""

    files: int
    rows: int = 0
    position: int = 0

    @classmethod
    def of(cls, offset: Any) -> FilePlace:
        """From what Spark's log has; offsets of before are whole files."""
        if offset is None:
            return cls(0)
        return cls(int(offset["files"]), int(offset.get("rows", 0)), int(offset.get("position", 0)))

    def to_offset(self) -> dict[str, int]:
        whole = {"files": self.files}
        return whole if not self.rows else {**whole, "rows": self.rows, "position": self.position}


class GrowingFiles(ABC):
    """What sources of files have in common; each has a `path`, and `files_per_batch` as its cap in files."""

    __slots__ = ()
    path: str
    files_per_batch: int
    in_one_partition = True
    latency_from: LatencyFrom = "file"
    measured_ahead = 1  # files whose rows are counted together

    @property
    def schema(self) -> None:
        """The application gives it."""
        return None

    @property
    def promise(self) -> str:
        return (
            "Exactly once: a log of files in the checkpoint and the offsets of each micro-batch say what was taken, "
            "also inside a file."
        )

    def problems(self, source: SourceSpec) -> Sequence[str]:
        if is_whole(self.files_per_batch, 1):
            return []
        return [f"needs files_per_batch as a whole number of at least 1; got {self.files_per_batch!r}"]

    def latest(self, start: Any, planning: Planning) -> Any:
        """As many files as the caps allow; the last one is cut where it has too many rows."""
        begin = FilePlace.of(start)
        end = _intake(self, planning.path).latest(begin, planning.most_tuples)
        return start if end == begin else end.to_offset()

    def splits(self, start: Any, end: Any, path: Path) -> Sequence[Split]:
        """The ranges of files between two offsets."""
        return list(_intake(self, path).splits(FilePlace.of(start), FilePlace.of(end)))

    def backlog(self, after: Any, path: Path) -> float | None:
        """Tuples of files that are there and were not taken."""
        place = FilePlace.of(after)
        return _waiting(self.path, path).waiting(place.files, place.rows)

    def arrivals(self, splits: Sequence[Split], path: Path) -> Sequence[float | None]:
        """When the file of each split arrived."""
        return _intake(self, path).arrivals(splits)

    def is_at_end(self, after: Any, path: Path) -> bool:
        """Whether all files that are there now lie before an offset."""
        log, place = LogView(path), FilePlace.of(after)
        log.refresh()
        known = {file.path for file in log.files}
        has_taken = place.files >= len(log) and not place.rows
        return has_taken and all(str(file) in known for file in files_of(self.path))

    @abstractmethod
    def rows_of(self, path: str) -> int | None:
        """How many rows a file has; None where it cannot be read, which whoever reads it says."""

    @abstractmethod
    def cut(self, path: str, place: FilePlace, most: int, least: int) -> FilePlace | None:
        """A place in a file at most `most` rows further on, at `least` if possible; None where it cannot be cut so."""

    @abstractmethod
    def ranges(self, path: str, number: int, begin: FilePlace, end: FilePlace | None) -> Iterator[Split]:
        """What lies between two places of a file, which has a number in the log; None is its end."""


class FileIntake:
    """The log of files of one source, and files that were found and are not in it yet; `clock` is the wall's."""

    def __init__(
        self,
        source: GrowingFiles,
        path: Path,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source, self._log, self._clock, self._monotonic = source, FileLog(path), clock, monotonic
        self._found = deque[tuple[str, float | None]]()  # each with the time of the listing before
        self._listed_s = float("-inf")
        self._before_s: float | None = None  # the listing before, by the wall clock
        self._rows: dict[str, int | None] = {}  # of files that logs of before have without them

    def latest(self, start: FilePlace, most: int) -> FilePlace:
        self._log_enough(start, most)
        place, left = start, most
        while place.files < len(self._log) and place.files - start.files < self._source.files_per_batch and left > 0:
            file = self._log.files[place.files]
            rest = (self._rows_of(file) or 0) - place.rows
            if rest > left:
                cut = self._source.cut(file.path, place, left, max(0, (most + 1) // 2 - (most - left)))
                if cut is None and place == start:
                    return FilePlace(place.files + 1)
                return place if cut is None else cut
            place, left = FilePlace(place.files + 1), left - max(rest, 0)
        return place

    def splits(self, start: FilePlace, end: FilePlace) -> Iterator[Split]:
        for number in range(start.files, end.files + bool(end.rows)):
            begin = start if number == start.files else FilePlace(number)
            stop = end if number == end.files else None
            yield from self._source.ranges(self._log.files[number].path, number, begin, stop)
        self._read_ahead(end.files)

    def arrivals(self, splits: Sequence[Split]) -> list[float | None]:
        """When the file of each split arrived; logs of before do not have it."""
        return [self._log.files[place_of(split.first)].arrived_s for split in splits]

    def _log_enough(self, start: FilePlace, most: int) -> None:
        """Has the log have as many rows behind a place as a micro-batch may take."""
        logged = self._log.files[start.files : start.files + self._source.files_per_batch]
        rows, new = sum(self._rows_of(file) or 0 for file in logged) - start.rows, list[LoggedFile]()
        if rows < most and len(logged) < self._source.files_per_batch:
            self._list()
        while self._found and len(logged) + len(new) < self._source.files_per_batch:
            if rows >= most and len(new) % self._source.measured_ahead == 0:
                break
            file = self._measured(*self._found.popleft())
            if file is not None:
                rows, new = rows + (file.rows or 0), [*new, file]
        self._log.add(new)

    def _list(self) -> None:
        if self._monotonic() - self._listed_s < _LIST_EVERY_S:
            return
        now_s, waiting = self._clock(), {path for path, _ in self._found}
        new = [str(file) for file in files_of(self._source.path)]
        self._found.extend((path, self._before_s) for path in new if path not in self._log and path not in waiting)
        self._listed_s, self._before_s = self._monotonic(), now_s

    def _measured(self, path: str, before_s: float | None) -> LoggedFile | None:
        """A file with its rows; None where somebody has taken it away meanwhile."""
        try:
            status, rows = os.stat(path), self._source.rows_of(path)
        except FileNotFoundError:
            return None
        return LoggedFile(path, status.st_size, rows, max(status.st_mtime, before_s or 0.0))

    def _rows_of(self, file: LoggedFile) -> int | None:
        if file.size_bytes is not None:
            return file.rows
        if file.path not in self._rows:
            self._rows[file.path] = self._source.rows_of(file.path)
        return self._rows[file.path]

    def _read_ahead(self, number: int) -> None:
        """Has the system read the files of the next batch while this one runs."""
        for file in self._log.files[number : number + _READ_AHEAD_FILES]:
            with contextlib.suppress(OSError):
                descriptor = os.open(file.path, os.O_RDONLY)
                try:
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)
                finally:
                    os.close(descriptor)


_READ_AHEAD_FILES = 8


@functools.lru_cache(maxsize=64)
def _intake(source: GrowingFiles, path: Path) -> FileIntake:
    """One for each source of a process: the reader of the source alone writes the log."""
    return FileIntake(source, path)


@functools.lru_cache(maxsize=64)
def _waiting(path: str, log: Path) -> FilesWaiting:
    return FilesWaiting(Path(path).absolute(), log)
