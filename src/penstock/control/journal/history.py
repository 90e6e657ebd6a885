"""What is kept of a whole run, however long: every change, and figures by second, minute and hour.

The journal has each micro-batch, the newest ones if disk space runs out.  Next to it are `journal.events.jsonl`
(starts, changes, decisions, commands, dead-letter samples, checkpoint sizes, the end: a line each, with `at_s`) and the
levels.  A viewer reads those, and of the journal only its newest lines: so a run of a week opens in seconds.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.arguments import FLAG, check_arguments, checked_calls, whole
from penstock.control.journal.configuration_changes import WrittenRoutes
from penstock.control.journal.display_graph import DisplayGraph
from penstock.control.journal.levels import Levels
from penstock.control.journal.parts import PartFile
from penstock.control.journal.plain_values import to_plain
from penstock.control.journal.point import decision_point, point_of
from penstock.control.journal.recorded_decision import RecordedDecision
from penstock.control.journal.run_start import RunStart
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration

if TYPE_CHECKING:
    from penstock.plan.fusion.groups import Fused

SAMPLES_EACH = 3  # by operator and reason
MOST_REASONS = 1_000  # that are distinguished: a reason may contain a text of each tuple
SAMPLE_BYTES = 1_000
_NUMBER = re.compile(r"\d[\d.,]*")
Display = Callable[["Fused"], DisplayGraph]


_MOST_MB = 1 << 30


@checked_calls("JournalSettings")
@dataclass(frozen=True, slots=True)
class JournalSettings:
    """The most disk space of a run's journal, over all its files, and whether it has samples of dead letters.

    >>> JournalSettings(disk_mb=64).part_bytes
    25165824
    """

    disk_mb: int = 512
    dead_letter_samples: bool = True

    def __post_init__(self) -> None:
        check_arguments(
            "ps.JournalSettings",
            disk_mb=(self.disk_mb, whole(1, _MOST_MB)),
            dead_letter_samples=(self.dead_letter_samples, FLAG),
        )

    @property
    def part_bytes(self) -> int:
        """Of the journal's micro-batches, in two parts."""
        return (self.disk_mb << 20) * 3 // 8

    @property
    def events_bytes(self) -> int:
        """Of the events, in two parts."""
        return (self.disk_mb << 20) // 16

    @property
    def levels_bytes(self) -> int:
        """Of seconds, minutes and hours altogether."""
        return (self.disk_mb << 20) // 8


DEFAULT_JOURNAL = JournalSettings()


def events_path(journal: Path) -> Path:
    return journal.with_name(f"{journal.stem}.events.jsonl")


class History:
    """Written by the driver, from any of its threads."""

    def __init__(
        self,
        journal: Path,
        display: Display,
        settings: JournalSettings = DEFAULT_JOURNAL,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._display, self._settings, self._clock = display, settings, clock
        self._events = PartFile(events_path(journal), settings.events_bytes)
        self._levels = Levels(journal, settings.levels_bytes)
        self._lock = threading.RLock()
        self._changes = WrittenRoutes()
        self._configuration: Configuration | None = None
        self._moving: Mapping[str, Any] | None = None
        self._executors: int | None = None
        self._start: RunStart | None = None
        self._commands: dict[str, Mapping[str, Any]] = {}  # the newest of each name that was done
        self._holds = Holds()
        self._samples: Counter[tuple[str, str]] = Counter()
        self._last_s = clock()
        self._has_ended = False

    def begin(self, start: RunStart) -> None:
        self._start = start
        self._event("start", to_plain(start))

    def batches(self, made: Iterable[tuple[Observation, Configuration]]) -> None:
        """Some micro-batches, with the Configuration of each."""
        with self._lock:
            for seen, configuration in made:
                if configuration is not self._configuration and configuration != self._configuration:
                    self._changed(seen.batch, configuration)
                point = point_of(seen, configuration, self._executors)
                self._last_s = point.begin_s + point.span_s
                self._levels.add(point)

    def moving(self, batch: int, body: Mapping[str, Any] | None) -> None:
        """What is on its way to another host after a micro-batch, where that is something else than before."""
        with self._lock:
            if body != self._moving:
                self._moving = body
                self._event("moving", {"batch": batch, **(body or {})})

    def executors(self, batch: int, executors: int | None) -> None:
        """How many there are after a micro-batch; None on a local master, which has none."""
        with self._lock:
            if executors is not None and executors != self._executors:
                self._executors = executors
                self._event("executors", {"batch": batch, "count": executors})

    def decided(self, batch: int, decision: RecordedDecision) -> None:
        """Every change; of equal holds in a row one, with the number of steps."""
        with self._lock:
            if self._has_ended:
                return
            self._levels.add(decision_point(decision, self._last_s))
            for body in self._holds.after(batch, decision):
                self._event("decision", body)

    def letters(self, batch: int, letters: Iterable[Mapping[str, str]]) -> None:
        """Samples of dead letters: a few of each operator and reason, cut to a length."""
        if not self._settings.dead_letter_samples:
            return
        for letter in letters:
            key = letter["operator"], _NUMBER.sub("#", letter["reason"])[:SAMPLE_BYTES]
            with self._lock:
                is_full = len(self._samples) >= MOST_REASONS and key not in self._samples
                if is_full or self._samples[key] >= SAMPLES_EACH:
                    continue
                self._samples[key] += 1
                self._event("dead_letter", {"batch": batch} | {name: cut(text) for name, text in letter.items()})

    def event(self, kind: str, body: Mapping[str, Any]) -> None:
        """Anything else: a command with its outcome, `Handle.control`, the size of the checkpoint, a failure."""
        with self._lock:
            if kind in ("command", "control") and body.get("outcome") == "done":
                self._commands |= dict.fromkeys(body.get("command", ()), to_plain(body))
            self._event(kind, to_plain(body))

    def end(self, reason: str, detail: str = "") -> None:
        """The run has ended: 'finished', 'stopped' or 'failed'."""
        with self._lock:
            for body in self._holds.rest():
                self._event("decision", body)
            self._levels.close()
            self._event("end", {"reason": reason, **({"detail": cut(detail)} if detail else {})})
            self._has_ended = True
            self._events.close()

    def _changed(self, batch: int, configuration: Configuration) -> None:
        before, self._configuration = self._configuration, configuration
        if before is None or before.fused != configuration.fused:
            self._event("graph", to_plain(self._display(configuration.fused)))
        self._event("configuration", {"batch": batch, **self._changes.of(configuration)})

    def _event(self, kind: str, body: Mapping[str, Any]) -> None:
        with self._lock:
            if self._has_ended:  # a thread that was late
                return
            if self._events.turn():  # what a viewer needs to understand the rest
                self._changes = WrittenRoutes()
                again: list[tuple[str, Any]] = [] if self._start is None else [("start", to_plain(self._start))]
                if self._configuration is not None:
                    again += [
                        ("graph", to_plain(self._display(self._configuration.fused))),
                        ("configuration", {"batch": -1, **self._changes.of(self._configuration)}),
                    ]
                again += [("command", own) for own in {own["id"]: own for own in self._commands.values()}.values()]
                if self._executors is not None and kind != "executors":
                    again.append(("executors", {"batch": -1, "count": self._executors}))
                self._events.append([self._line(*own) for own in again])
            self._events.append([self._line(kind, body)])

    def _line(self, kind: str, body: Mapping[str, Any]) -> str:
        return json.dumps({"at_s": round(self._clock(), 3), kind: body}, separators=(",", ":"))


class Holds:
    """Puts holds in a row together where they are equal but for the figures in their reasons."""

    def __init__(self) -> None:
        self._held: dict[str, Any] | None = None
        self._like: object = None

    def after(self, batch: int, decision: RecordedDecision) -> list[dict[str, Any]]:
        """What is to be written now that another decision was made."""
        body = {"batch": batch, "steps": 1, "first_step": decision.step, **to_plain(decision)}
        if decision.requested or decision.decided != decision.setting:
            return [*self.rest(), body]
        like = hold_likeness(decision)
        if self._held is not None and like == self._like:
            first_seen = self._held.get("first_seen", self._held.get("seen", {}))  # the outcome of what came before
            first = {"first_step": self._held["first_step"], "first_seen": first_seen}
            self._held = body | first | {"steps": self._held["steps"] + 1}
            return []
        written, self._held, self._like = self.rest(), body, like
        return written

    def rest(self) -> list[dict[str, Any]]:
        held, self._held, self._like = self._held, None, None
        return [] if held is None else [held]


def hold_likeness(decision: RecordedDecision) -> object:
    """Equal for holds that differ in the figures of their reasons alone."""
    because = _NUMBER.sub("#", decision.because)
    return decision.setting, decision.wanted, decision.policy, decision.broken, decision.rules, because


def cut(text: str, most_bytes: int = SAMPLE_BYTES) -> str:
    """A text of at most so many bytes.

    >>> cut("abcdef", 5)
    'ab...'
    """
    data = text.encode()
    return text if len(data) <= most_bytes else data[: most_bytes - 3].decode(errors="ignore") + "..."
