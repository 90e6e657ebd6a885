"""What is known of a run so far: fed with the lines of its journal and events, whatever they are."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.control.goals.goal import Goal
from penstock.control.goals.limits import Limits
from penstock.control.journal.configuration_changes import RecordedRoutes
from penstock.control.journal.display_graph import DisplayGraph
from penstock.control.journal.history import hold_likeness
from penstock.control.journal.plain_values import from_plain
from penstock.control.journal.point import decision_point, point_of
from penstock.control.journal.recorded_decision import RecordedDecision, StepFigures
from penstock.control.journal.run_start import UNKNOWN_START, RunStart
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.watch.recorded.series import Series
from penstock.watch.timeline import committed_at_s

MOST_DECISIONS = 2_000
MOST_RECENT = 300
MOST_NOTES = 200
_SETTINGS = re.compile(
    rb'"steps":(\d{1,9}),.*?"setting":\{"replicas":(\d{1,9})([^}]*)\}.*?"decided":\{"replicas":(\d{1,9})([^}]*)\}'
)
_WRONG = (AssertionError, AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class SeenDecision:
    """A decision with the micro-batch that it followed; of equal holds in a row the last, and how many steps.

    `first_seen`: what the first of them has seen, which is the outcome of the decision before.
    """

    batch: int
    at_s: float
    decision: RecordedDecision
    first_step: int
    first_seen: StepFigures
    steps: int = 1

    @property
    def is_hold(self) -> bool:
        return self.decision.decided == self.decision.setting and not self.decision.requested

    @property
    def kind(self) -> str:
        """'up', 'down', 'other' or 'hold'."""
        replicas = self.decision.setting.replicas, self.decision.decided.replicas
        return "hold" if self.is_hold else _kind(*replicas)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened: a start, a failure, a recovery, a command with its outcome."""

    at_s: float
    kind: str
    text: str
    batch: int | None = None


@dataclass(slots=True)
class RunState:
    """All of it; bounded in memory, however long the run is."""

    application: str = ""
    graph: DisplayGraph | None = None
    start: RunStart = UNKNOWN_START
    starts: int = 0
    goal: Goal | None = None
    limits: Limits = field(default_factory=Limits)
    passive: bool = False
    paused: bool = False
    configuration: Configuration | None = None
    newest: Observation | None = None
    recent: deque[Observation] = field(default_factory=lambda: deque(maxlen=MOST_RECENT))
    decisions: deque[SeenDecision] = field(default_factory=lambda: deque(maxlen=MOST_DECISIONS))
    kinds: Counter[str] = field(default_factory=lambda: Counter(up=0, down=0, other=0, hold=0))  # steps of the run
    letters: deque[Mapping[str, Any]] = field(default_factory=lambda: deque(maxlen=MOST_NOTES))
    notes: deque[Note] = field(default_factory=lambda: deque(maxlen=MOST_NOTES))
    most_replicas: int | None = None  # of all limits that the run had: what static provisioning would hold
    commands: deque[Mapping[str, Any]] = field(default_factory=lambda: deque(maxlen=MOST_NOTES))
    checkpoint_bytes: int | None = None
    executors: int | None = None
    moving: Mapping[str, Any] = field(default_factory=dict)
    end: Mapping[str, Any] | None = None
    series: Series = field(default_factory=Series)
    unreadable: int = 0
    version: int | None = None
    _routes: RecordedRoutes = field(default_factory=RecordedRoutes)
    _event_routes: RecordedRoutes = field(default_factory=RecordedRoutes)
    _batch: int = -1
    _decided: int = -1  # the newest micro-batch whose decision is known

    def journal_line(self, line: bytes) -> str | None:
        """Takes a line of the journal; says what it was, None where it was none or is known already."""
        return self._taken(line, self._of_journal)

    def event_line(self, line: bytes, *, with_decisions: bool = True) -> str | None:
        """Takes a line of the events; without decisions where the journal itself is followed."""
        return self._taken(line, lambda body: self._of_events(body, with_decisions))

    def skip_configuration(self, line: bytes) -> None:
        """Takes no more of a line than what later ones refer to: another Configuration follows."""

        def noted(body: dict[str, Any]) -> str | None:
            self._event_routes.note(body["configuration"])
            return None

        self._taken(line, noted)

    def skip_decision(self, line: bytes) -> None:
        """Counts a decision whose event is not understood otherwise, which would take ten times as long."""
        found = _SETTINGS.search(line)
        if found is None:
            return
        steps, replicas, rest, decided, decided_rest = found.groups()
        stays = (replicas, rest) == (decided, decided_rest) and b'"requested":true' not in line
        self.kinds["hold" if stays else _kind(int(replicas), int(decided))] += int(steps)

    def _taken(self, line: bytes, take: Callable[[dict[str, Any]], str | None]) -> str | None:
        try:
            body = json.loads(line)
            if not isinstance(body, dict):
                raise ValueError("no object")
            return take(body)
        except _WRONG:
            self.unreadable += 1
            return None

    def _of_journal(self, body: dict[str, Any]) -> str | None:
        if "penstock_journal" in body:
            return self._header(body)
        if "start" in body:
            if self.version == 1:
                self._begin(from_plain(RunStart, body["start"]), None)
            return "run"
        if "observation" in body:
            return self._observation(body)
        if "decision" in body:
            return self._decision(int(body["batch"]), body["decision"])
        raise ValueError("no line of a journal")

    def _header(self, body: dict[str, Any]) -> str:
        self.version = body["penstock_journal"] if isinstance(body["penstock_journal"], int) else None
        self.application = str(body.get("application", ""))[:1000]
        if "graph" in body and self.graph is None:
            self.graph = from_plain(DisplayGraph, body["graph"])
        if "start" in body:
            self._set(from_plain(RunStart, body["start"]))
        return "run"

    def _observation(self, body: dict[str, Any]) -> str | None:
        if "configuration" in body:
            self.configuration = self._routes.configuration(body["configuration"])
        seen = from_plain(Observation, body["observation"])
        if self.configuration is None or seen.batch <= self._batch:
            return None
        self._batch, self.newest = seen.batch, seen
        self.recent.append(seen)
        point = point_of(seen, self.configuration, self.executors)
        if point.begin_s + point.span_s > self.series.newest_s:
            self.series.add(point)
        if seen.slots_rebuilt:
            text = f"{seen.slots_rebuilt} slots were rebuilt from the checkpoint"
            self.notes.append(Note(committed_at_s(seen), "recovery", text, seen.batch))
        if isinstance(body.get("decision"), dict):
            self._decision(seen.batch, body["decision"])
        return "observation"

    def _decision(self, batch: int, body: Any, *, adds: bool = True) -> str | None:
        """`body` is a line's of the journal, or an event, which may be of several holds."""
        decision = from_plain(RecordedDecision, body)
        if batch <= self._decided:
            return None
        self._decided = batch
        at_s = committed_at_s(self.newest) if self.newest is not None else 0.0
        first_seen = from_plain(StepFigures, body["first_seen"]) if "first_seen" in body else decision.seen
        first_step, steps = int(body.get("first_step", decision.step)), max(int(body.get("steps", 1)), 1)
        own = SeenDecision(batch, at_s, decision, first_step, first_seen, steps)
        self.kinds[own.kind] += own.steps
        before = self.decisions[-1] if self.decisions else None
        if own.is_hold and before is not None and before.is_hold and steps == 1 and _is_like(before, own):
            own = replace(own, first_step=before.first_step, first_seen=before.first_seen, steps=before.steps + 1)
            self.decisions.pop()
        self.decisions.append(own)
        if adds and at_s > self.series.newest_s:  # else the levels have it already
            self.series.add(decision_point(decision, at_s))
        self.passive = decision.passive
        return "decision"

    def _of_events(self, body: dict[str, Any], with_decisions: bool) -> str | None:
        at_s = float(body.get("at_s", 0.0))
        if "configuration" in body:
            configuration = self._event_routes.configuration(body["configuration"])
            if self.newest is None:
                self.configuration = configuration
                self._routes.seed(configuration)
            return "run"
        if "decision" in body:
            if with_decisions:
                own = body["decision"]
                kind = self._decision(int(own["batch"]), own, adds=False)
                if kind is not None:
                    self.decisions[-1] = replace(self.decisions[-1], at_s=at_s)
                return kind
            return None
        if "start" in body:
            self._begin(from_plain(RunStart, body["start"]), at_s)
        elif "graph" in body:
            self.graph = from_plain(DisplayGraph, body["graph"])
        else:
            self._note(body, at_s)
        return "run"

    def _note(self, body: dict[str, Any], at_s: float) -> None:
        if "dead_letter" in body:
            self.letters.append({str(k)[:50]: v for k, v in dict(body["dead_letter"]).items()})
        elif "checkpoint_bytes" in body:
            self.checkpoint_bytes = int(body["checkpoint_bytes"]["bytes"])
        elif "executors" in body:
            self.executors = int(body["executors"]["count"])
        elif "moving" in body:
            self.moving = dict(body["moving"])
        elif "command" in body or "control" in body:
            self._command(dict(body["command" if "command" in body else "control"]), at_s)
        elif "drift" in body:
            self.notes.append(Note(at_s, "drift", str(body["drift"].get("sentence", ""))))
        elif "end" in body:
            self.end = {"at_s": at_s, **dict(body["end"])}
            if self.end.get("reason") == "failed":
                self.notes.append(Note(at_s, "failure", str(self.end.get("detail", ""))))
        else:
            raise ValueError("no event of a journal")

    def _set(self, start: RunStart) -> None:
        self.start, self.end, self.paused = start, None, False
        self.goal, self.passive = start.goal, start.passive
        self._limited(start.limits)

    def _limited(self, limits: Limits) -> None:
        self.limits = limits
        if limits.max_replicas is not None:
            self.most_replicas = max(self.most_replicas or 0, limits.max_replicas)

    @property
    def static_replicas(self) -> int | None:
        """What would be held all the time: the most that the run was ever allowed, all cores without a bound."""
        unbounded = self.start.limits.max_replicas is None or self.most_replicas is None
        return self.start.cores if unbounded else self.most_replicas

    def _begin(self, start: RunStart, at_s: float | None) -> None:
        if self.starts and start.at_s is not None and start.at_s == self.start.at_s:
            return  # each part of the events begins with it
        self._set(start)
        self.starts += 1
        if self.starts > 1 and at_s is not None:
            self.notes.append(Note(at_s, "recovery", "the application was started again from its checkpoint"))

    def _command(self, command: dict[str, Any], at_s: float) -> None:
        if all(own.get("id") != command.get("id") for own in self.commands):  # a new part of the events has it again
            self.commands.append(command | {"at_s": at_s})
        if command.get("outcome") != "done":
            return
        own = command.get("command")
        asked: Mapping[str, Any] = own if isinstance(own, dict) else {}
        self.paused = bool(asked.get("paused", self.paused))
        self.passive = bool(asked.get("passive", self.passive))
        if isinstance(command.get("goal"), dict):
            self.goal = from_plain(Goal, command["goal"])
        if isinstance(command.get("limits"), dict):
            self._limited(from_plain(Limits, command["limits"]))


def _kind(before: int, after: int) -> str:
    return "up" if after > before else "down" if after < before else "other"


def _is_like(one: SeenDecision, other: SeenDecision) -> bool:
    return hold_likeness(one.decision) == hold_likeness(other.decision)
