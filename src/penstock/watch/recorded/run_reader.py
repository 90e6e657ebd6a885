"""Opens the journal of a checkpoint and follows it, by a process that has nothing to do with its driver."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from penstock.control.journal.history import events_path
from penstock.control.journal.levels import LEVELS, read_level
from penstock.control.journal.parts import part_before
from penstock.errors import InputError
from penstock.host.paths.local_path import local_path
from penstock.watch.recorded.driver_state import is_driven
from penstock.watch.recorded.run_state import MOST_DECISIONS, MOST_RECENT, RunState
from penstock.watch.recorded.series import MOST_ROWS
from penstock.watch.recorded.tail import Tail

FILE = "journal.jsonl"
_HEADER = b'{"penstock_journal"'
TAIL_BYTES = 4 << 20
_SILENT_S = 120.0
_DECISION, _CONFIGURATION = b"decision", b"configuration"
_KIND = re.compile(rb'\{"at_s":[^,]{1,40},"(decision|configuration)":\{')  # as the driver writes lines


def journal_of(path: str | Path) -> Path:
    """The journal of a checkpoint, or the journal itself; InputError where there is neither."""
    given = Path(local_path(path, "the checkpoint"))
    found = given / FILE if given.is_dir() else given
    if not found.exists() and not part_before(found).exists():
        if not given.exists():
            raise InputError(f"there is no file or folder '{given}'; give the checkpoint of a run, or its {FILE}")
        raise InputError(f"'{given}' has no journal: it is not the checkpoint of a run, or the run is still starting")
    if not given.is_dir() and not _is_journal(found):
        raise InputError(f"'{given}' is not a journal; give a checkpoint, or the file {FILE} in it")
    return found


def _is_journal(path: Path) -> bool:
    """Whether the first line is a journal's; one that is not whole yet may be."""
    part = part_before(path) if part_before(path).exists() else path
    with part.open("rb") as file:
        first = file.readline(1 << 20)
    return b"penstock_journal" in first or _HEADER.startswith(first)


class RunReader:
    """The state of a run, and what was new since the last look."""

    def __init__(self, journal: Path, clock: Callable[[], float] = time.time) -> None:
        self.journal, self._clock = journal, clock
        self.state = RunState()
        self._opened = False

    def open(self) -> None:
        """Reads what is there: of a run of version 2 the events, the levels and the newest micro-batches."""
        state, events = self.state, events_path(self.journal)
        has_events = events.exists()
        for part in (part_before(self.journal), self.journal):
            self._header(part)
        self._events = Tail(events)
        self._open_events(events)
        for level in LEVELS:
            state.series.load(level, read_level(self.journal, level, MOST_ROWS[level]))
        state.series.loaded()
        if not has_events:
            self._all(part_before(self.journal), state.journal_line)
        self._lines = Tail(self.journal, TAIL_BYTES if has_events else None)
        self._opened = True
        newest: deque[bytes] = deque(maxlen=MOST_RECENT if has_events else None)
        while lines := self._lines.lines():
            newest.extend(lines)
        for line in newest:
            state.journal_line(line)

    def _open_events(self, events: Path) -> None:
        """All of them, but of decisions and Configurations the newest: others cost ten times what reading them does."""
        found: list[bytes] = []
        self._all(part_before(events), found.append)
        while lines := self._events.lines():
            found += lines
        kinds = [_kind(line) for line in found]
        decisions, configurations = kinds.count(_DECISION) - MOST_DECISIONS, kinds.count(_CONFIGURATION) - 1
        for line, kind in zip(found, kinds, strict=True):
            if kind == _DECISION and decisions > 0:
                decisions -= 1
                self.state.skip_decision(line)
            elif kind == _CONFIGURATION and configurations > 0:
                configurations -= 1
                self.state.skip_configuration(line)
            else:
                self.state.event_line(line)

    def poll(self) -> list[str]:
        """Takes what was added; gives what it was: 'observation', 'decision' and 'run', in its order."""
        if not self._opened:
            self.open()
            return ["run"]
        state = self.state
        found = [state.journal_line(line) for line in self._lines.lines()]
        found += [state.event_line(line, with_decisions=False) for line in self._events.lines()]
        return [kind for kind in found if kind is not None]

    @property
    def status(self) -> str:
        """'running', 'finished', 'stopped', 'failed', or 'interrupted': it has no end, and no driver any more."""
        end = self.state.end
        if end is not None:
            reason = end.get("reason")
            return reason if reason in ("finished", "stopped", "failed") else "stopped"
        driven = is_driven(self.journal.parent)
        if driven is None:
            newest = self.state.newest
            seen_s = 0.0 if newest is None else newest.started_at_s + newest.micro_batch_s
            driven = self._clock() - seen_s < _SILENT_S
        return "running" if driven else "interrupted"

    def _header(self, part: Path) -> None:
        try:
            with part.open("rb") as file:
                first = file.readline(1 << 20)
        except OSError:
            return
        if b"penstock_journal" in first:
            self.state.journal_line(first)

    def _all(self, path: Path, take: Callable[[bytes], object]) -> None:
        try:
            with path.open("rb") as file:
                for line in file:
                    if line.endswith(b"\n"):
                        take(line)
        except OSError:
            return


def _kind(line: bytes) -> bytes | None:
    """What a line of the events is, of those that are many."""
    found = _KIND.match(line)
    return None if found is None else found[1]
