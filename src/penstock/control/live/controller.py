"""The loop of the application level over a running query, in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.control.commands import ControlChange
from penstock.control.goals.goal import Goal
from penstock.control.goals.limits import Limits
from penstock.control.journal.recorded_decision import RecordedDecision, recorded
from penstock.control.live.micro_batch_plant import Resources, SparkPlant
from penstock.control.loop.control_request import ControlRequest
from penstock.control.loop.loop import Loop, Record
from penstock.control.rules.batch_cap import CapPace
from penstock.control.setting import Setting
from penstock.errors import InputError
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration

_log = logging.getLogger(__name__)
_MOST_DECISIONS = 10_000
NOT_MEASURED = (
    "whether the goal is met is not measured: a source does not report what arrives at it; docs/control.md says which "
    "do"
)


class Notebook(Protocol):
    """Where decisions are kept and CPU is counted: the observer of a query."""

    def decided(self, batch: int, decision: RecordedDecision) -> None: ...

    def spent(self, cpu_s: float) -> None: ...


@dataclass(frozen=True, slots=True)
class ControlParts:
    """What follows from a request: the loop, and what the plant is to have besides the application."""

    loop: Loop
    resources: Resources | None = None
    pace: CapPace | None = None
    sentences: Callable[[Record], Iterable[str]] | None = None


class Controller:
    """Drives a loop over a plant until it is closed.

    A policy that fails leaves the application as it is: it goes on, and `failure` says why nobody controls it.
    `tell` gets a sentence for each new recommendation in passive mode, those that `sentences` makes of a turn of the
    loop, and whatever else a user has to know once.
    """

    def __init__(
        self,
        plant: SparkPlant,
        loop: Loop,
        notebook: Notebook,
        *,
        tell: Callable[[str], None] = print,
        sentences: Callable[[Record], Iterable[str]] | None = None,
        request: ControlRequest | None = None,
        remake: Callable[[ControlRequest], ControlParts] | None = None,
    ) -> None:
        self.request, self._remake = request, remake
        self._changes, self._swapping = threading.Lock(), threading.Lock()  # one at a time; not while a master is asked
        self.plant, self._loop, self._notebook, self.tell = plant, loop, notebook, tell
        self._sentences = sentences
        self.decisions: deque[RecordedDecision] = deque(maxlen=_MOST_DECISIONS)
        self.failure: Exception | None = None
        self.advice: str | None = None
        self._has_warned = False  # that the goal is not measured
        self.cpu_s = 0.0  # that control has taken
        self._thread = threading.Thread(target=self._run, name="penstock-control", daemon=True)
        self._recommended: tuple[Setting, Setting] | None = None

    @property
    def policy(self) -> str:
        return self._loop.policy.name

    @property
    def goal(self) -> Goal:
        return self._loop.goal

    @property
    def is_passive(self) -> bool:
        return self._loop.passive

    @property
    def is_paused(self) -> bool:
        return self._loop.paused

    @property
    def limits(self) -> Limits:
        return Limits() if self.request is None else self.request.limits

    def change(self, change: ControlChange) -> None:
        """From the next control step on; a new goal rebuilds the policy, which goes on from what was learned.

        InputError where it cannot be done, and nothing is changed then.
        """
        if self.request is None or self._remake is None:
            raise InputError("this controller cannot be changed while it runs")
        with self._changes:
            now, loop = self.request, self._loop
            request = replace(
                now,
                goal=change.goal or now.goal,
                limits=change.limits or now.limits,
                passive=now.passive if change.passive is None else change.passive,
            )
            if request != now:
                parts = self._remake(request)
                if (request.limits, request.passive) != (now.limits, now.passive):
                    self.plant.use(parts.resources, parts.pace)
                    self._sentences = parts.sentences
                loop = parts.loop
            paused = self._loop.paused if change.paused is None else change.paused
            with self._swapping:
                self.request, self._loop = request, replace(loop, paused=paused)

    def start(self) -> None:
        self._thread.start()

    def is_due(self, committed_at_s: float, configuration: Configuration, tuples: int) -> bool | None:
        """Whether something may follow a micro-batch: until then `committed` need not be called for those before it.

        None where nobody controls any more.
        """
        return None if self.failure is not None else self.plant.is_due(committed_at_s, configuration, tuples)

    def committed(self, observation: Observation, configuration: Configuration) -> None:
        """A micro-batch is over; called by the thread that runs them."""
        begin_s = time.thread_time()
        try:
            self.plant.committed(observation, configuration)
            self._loop.keep_pace(self.plant)
        except Exception as error:
            self._fail(error)
        self._spent(time.thread_time() - begin_s)

    def close(self, patience_s: float = 5.0, *, gives_cap_back: bool = True) -> None:
        """No more decisions; frequencies are given back, and the cap of micro-batches where the application goes on."""
        self.plant.close()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(patience_s)
        if gives_cap_back:
            self.plant.give_cap_back()

    def _run(self) -> None:
        begin_s = time.thread_time()
        try:
            loop = self._loop
            state = loop.start()
            while (seen := self.plant.observe()) is not None:
                with self._swapping:
                    before, loop = loop, self._loop
                if loop is not before:
                    state = loop.resume(before, state)
                state, record = loop.turn(state, self.plant, seen)
                self._note(record)
                end_s = time.thread_time()
                self._spent(end_s - begin_s)
                begin_s = end_s
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self.plant.close()
        sentence = f"control has stopped, and the application goes on as it is: {error}"
        _log.warning(sentence, exc_info=error)
        self.tell(sentence)
        self.plant.give_cap_back()

    def _spent(self, cpu_s: float) -> None:
        self.cpu_s += cpu_s
        self._notebook.spent(cpu_s)

    def _note(self, record: Record) -> None:
        decision = recorded(record, self.policy, self.goal, passive=self.is_passive)
        self.decisions.append(decision)
        if record.seen.last_batch is not None:
            self._notebook.decided(record.seen.last_batch, decision)
        if self.is_passive and self._is_news(decision):
            self.tell(decision.text)
        if not decision.measured and not self._has_warned:
            self._has_warned = True
            self.tell(NOT_MEASURED)
        for sentence in () if self._sentences is None else self._sentences(record):
            self.tell(sentence)
        self.advice = "; ".join(record.advice) or None

    def _is_news(self, decision: RecordedDecision) -> bool:
        """Whether a change is recommended, and another one than in the step before."""
        before, self._recommended = self._recommended, (decision.setting, decision.decided)
        return decision.decided != decision.setting and self._recommended != before
