"""The journal of a run: a header, then one JSON line per micro-batch, which later tools replay.

A line has what was observed, the Configuration in force where it is another than on the line before (each element's
route only where that changed), and the decision that followed, if there was one.  A decision that comes later has a
line of its own with the number of the micro-batch.

A start has a line of its own, too, and each part begins with the one in force.

A journal that has grown long goes on in a new file, and the part before it stays next to it, in place of an older one:
a stream that runs for months does not fill its disk, and what happened lately can be read whole.  What is kept of the
time before is in `history.py`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.arguments import is_whole, shown
from penstock.control.journal.configuration_changes import RecordedRoutes, WrittenRoutes
from penstock.control.journal.display_graph import DisplayGraph
from penstock.control.journal.parts import drop_torn_line, part_before
from penstock.control.journal.plain_text import to_text
from penstock.control.journal.plain_values import from_plain, to_plain
from penstock.control.journal.run_start import UNKNOWN_START, RunStart
from penstock.errors import InputError
from penstock.host.atomic_file import open_new
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration

VERSION = 2
READABLE = (1, VERSION)
PART_BYTES = 192 << 20  # some hours at ten micro-batches a second
_TAIL_BYTES = 1 << 20  # a line has some kilobytes
_BATCH = re.compile(rb'^\{"observation":\{"batch":(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One micro-batch of a journal."""

    observation: Observation
    configuration: Configuration
    decision: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A journal that was read: the newest line of each micro-batch, in their order.

    `single`: elements that can have one replica only.  `start`: the newest; journals of earlier versions have none.
    `first_batches`: the micro-batches that starts began with, as far as they are known.
    """

    application: str
    lines: tuple[JournalLine, ...]
    single: tuple[str, ...] = ()
    start: RunStart = UNKNOWN_START
    first_batches: tuple[int, ...] = ()

    @property
    def observations(self) -> tuple[Observation, ...]:
        return tuple(line.observation for line in self.lines)

    def by_start(self) -> tuple[tuple[JournalLine, ...], ...]:
        """The lines of each start, without starts that had no micro-batch."""
        firsts = set(self.first_batches)
        places = [i for i, line in enumerate(self.lines) if line.observation.batch in firsts]
        bounds = [0, *places, len(self.lines)]
        return tuple(self.lines[begin:end] for begin, end in itertools.pairwise(bounds) if begin < end)


class Journal:
    """A journal that is being written; one that exists already goes on, without a line that was cut short.

    Whatever is written after `part_bytes` goes into a new part, which begins with the header and a whole Configuration.
    """

    def __init__(
        self,
        path: Path,
        application: str,
        single: Sequence[str] = (),
        *,
        part_bytes: int = PART_BYTES,
        graph: DisplayGraph | None = None,
    ) -> None:
        self._path, self._part_bytes = path, part_bytes
        self._header: dict[str, Any] = {"penstock_journal": VERSION, "application": application, "single": list(single)}
        if graph is not None:
            self._header["graph"] = to_plain(graph)
        self._lock = threading.Lock()
        self._open()

    def _open(self) -> None:
        length = drop_torn_line(self._path)
        self._file = open_new(str(self._path), os.O_WRONLY | os.O_APPEND)
        self._close = weakref.finalize(self, os.close, self._file)
        self._bytes = length
        self._configuration: Configuration | None = None
        self._changes = WrittenRoutes()
        if length == 0:
            self._append()

    def begin(self, start: RunStart) -> None:
        """The application starts here."""
        with self._lock:
            self._header["start"] = to_plain(start)
            self._append(_json({"start": to_plain(start)}))

    def write(
        self, observation: Observation, configuration: Configuration, decision: Mapping[str, Any] | None = None
    ) -> None:
        """Adds a micro-batch; one that ran before counts as this line says from now on."""
        with self._lock:
            self._turn()
            self._append(self._line(observation, configuration, decision))

    def write_all(self, batches: Iterable[tuple[Observation, Configuration]]) -> None:
        """Adds some at once."""
        with self._lock:
            self._turn()
            self._append("\n".join([self._line(observation, own) for observation, own in batches]))

    def _line(
        self, observation: Observation, configuration: Configuration, decision: Mapping[str, Any] | None = None
    ) -> str:
        line = '{"observation":' + to_text(observation)
        if configuration is not self._configuration and configuration != self._configuration:
            line += ',"configuration":' + _json(self._changes.of(configuration))
        self._configuration = configuration
        if decision is not None:
            line += ',"decision":' + _json(to_plain(decision))
        return line + "}"

    def decide(self, batch: int, decision: Any) -> None:
        """Adds the decision that followed a micro-batch, from any thread."""
        line = _json({"batch": batch, "decision": to_plain(decision)})
        with self._lock:
            self._append(line)

    def _turn(self) -> None:
        """Begins a new part where this one is long enough."""
        if self._bytes >= self._part_bytes:
            close = self._close
            if self._path.exists():  # it does not where the new part could not be opened the last time
                self._path.replace(part_before(self._path))
            self._open()
            close()

    def _append(self, *lines: str) -> None:
        """Adds lines, after the header where that is not there yet; all of it or, where the disk is full, nothing."""
        whole = "".join(f"{line}\n" for line in (lines if self._bytes else (_json(self._header), *lines))).encode()
        data = memoryview(whole)
        try:
            while data:  # a disk that fills up takes some of it, and says why with the next
                data = data[os.write(self._file, data) :]
        except OSError:
            self._configuration, self._changes = None, WrittenRoutes()  # the next line has them again
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._bytes)
            raise
        self._bytes += len(whole)


def _json(body: Any) -> str:
    return json.dumps(body, separators=(",", ":"))


def newest_batch(path: Path) -> int | None:
    """The micro-batch of the last line that has one, None where none of the last has."""
    for part in _parts(path)[::-1]:
        with part.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0))
            found = _BATCH.findall(file.read())
        if found:
            return int(found[-1])
    return None


def _not_a_journal(part: Path, header: dict[str, Any]) -> str:
    if not header:
        return f"the journal '{part}' is empty"
    if "penstock_journal" in header:
        got = f"version {shown(header['penstock_journal'])}"
        return f"the journal '{part}' has a version that is not read here: versions 1 and {VERSION} are; got {got}"
    return (
        f"'{part}' is not a journal: its first line has no version; give a checkpoint, or the file journal.jsonl in it"
    )


def read_journal(path: str | Path) -> RecordedRun:
    """What a journal has, with the part before where there is one; a last line that a kill cut short is left out."""
    header: dict[str, Any] = {}
    lines: dict[int, JournalLine] = {}
    start, has_started = UNKNOWN_START, False
    first_batches: list[int] = []
    for part in _parts(Path(path)):
        bodies = _bodies(part)
        first = next(bodies, {})
        if header and not first:
            continue  # killed before the new part had its header
        header = first
        if header.get("penstock_journal") not in READABLE:
            raise InputError(_not_a_journal(part, header))
        start = _header_start(header, part) if "start" in header else start
        for line in _lines(part, bodies):
            if isinstance(line, RunStart):
                start, has_started = line, True
            elif isinstance(line, JournalLine):
                lines[line.observation.batch] = line
                first_batches += [line.observation.batch] if has_started else []
                has_started = False
            elif line[0] in lines:
                lines[line[0]] = replace(lines[line[0]], decision=line[1])
    ordered = tuple(lines[batch] for batch in sorted(lines))
    single = header.get("single", ())
    names = tuple(map(str, single)) if isinstance(single, list) else ()
    return RecordedRun(str(header.get("application", "")), ordered, names, start, tuple(first_batches))


def _header_start(header: dict[str, Any], path: Path) -> RunStart:
    try:
        return from_plain(RunStart, header["start"])
    except (TypeError, ValueError) as error:
        raise InputError(f"line 1 of the journal '{path}' has no start of an application: {error}") from error


def _parts(path: Path) -> list[Path]:
    """A journal's parts that are there, in their order; the journal itself where none is."""
    return [part for part in (part_before(path), path) if part.exists()] or [path]


def _bodies(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_whole_lines(path), 1):
        try:
            body = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {number} of the journal '{path}' is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise InputError(f"line {number} of the journal '{path}' is not an object; got {line[:40]}")
        yield body


def _whole_lines(path: Path) -> Iterator[str]:
    try:
        with path.open() as file:
            yield from (line for line in file if line.endswith("\n"))
    except OSError as error:
        hint = "; give the checkpoint of a run, or its journal.jsonl" if isinstance(error, FileNotFoundError) else ""
        raise InputError(
            f"the journal '{path}' cannot be read: {(error.strerror or str(error)).lower()}{hint}"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"the journal '{path}' is not a text file in UTF-8") from error


def _lines(
    path: Path, bodies: Iterator[dict[str, Any]]
) -> Iterator[JournalLine | RunStart | tuple[int, dict[str, Any]]]:
    """Micro-batches, starts, and decisions with the number of their micro-batch."""
    routes = RecordedRoutes()
    configuration: Configuration | None = None
    for number, body in enumerate(bodies, 2):
        if "decision" in body and "observation" not in body:
            batch = body.get("batch", -1)
            if not is_whole(batch) or not isinstance(body["decision"], dict):
                raise InputError(f"line {number} of the journal '{path}' is no decision after a micro-batch")
            yield batch, body["decision"]
            continue
        try:
            if "start" in body:
                yield from_plain(RunStart, body["start"])
                continue
            if "configuration" in body:
                configuration = routes.configuration(body["configuration"])
            assert configuration is not None
            observation = from_plain(Observation, body["observation"])
        except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"line {number} of the journal '{path}' is no micro-batch: {error!r}") from error
        yield JournalLine(observation, configuration, body.get("decision"))
