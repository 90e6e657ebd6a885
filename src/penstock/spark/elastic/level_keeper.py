"""The level of a pool: found by a policy from the rate of whole periods, kept between tasks, told to new workers."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from penstock.control.element_setting import ElementSetting
from penstock.control.leaping_operator import FOR_SERVICES, LeapingState
from penstock.control.level_search import start_search
from penstock.element.state.home import temporary_directory
from penstock.measure.element_observation import ElementObservation
from penstock.spark.elastic.busy_clock import BusyClock, Spent

_LEAST_CALLS = 8
_HINT_S = 3600.0  # after which what workers told of an `elastic_map` that is over is removed
_MOST_UNJUDGED_TASKS = 10  # in a row that a level is tried in, before it is given up as one that they cannot keep busy
_COMPUTES_RATIO = 0.8  # of a period that one thread at work spends on a core
_STARVED_RATIO = 0.2  # a period in which so much time went by without anything to do says nothing about the level


class LevelKeeper:
    """Counts what a pool completes while it has enough to do, and asks the policy once a period, unless it is `fixed`.

    Time in which the consumer holds the task up, or input is awaited with nothing left to do, does not count; nor do
    calls that were begun at another level.  A period may go over several tasks: what is between the last call of one
    that counts and the first calls of the next belongs to neither.
    """

    def __init__(
        self,
        max_level: int,
        period_s: float,
        known: Path | None = None,
        journal: Path | None = None,
        fixed: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
        cpu_clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.max_level, self._period_s, self._known, self._journal = max_level, period_s, known, journal
        self._time = BusyClock(clock, cpu_clock)
        self._computes = False
        self._policy = FOR_SERVICES
        self._fixed = fixed
        level = min(_read_level(known), max_level) if fixed is None else fixed
        self._state = LeapingState(start_search(level, max_level), probe_periods=self._policy.probe_periods)
        self.level = level
        self._count_from = 0
        self._first_calls = 1  # calls whose ends come before time counts
        self._rows = self._calls = self._unjudged_tasks = 0
        self._counted = Spent()  # until the last call that counts

    @property
    def settled(self) -> bool:
        return self._fixed is not None or self._policy.settled(self._state)

    @property
    def gains_nothing(self) -> bool:
        """Whether calls were seen to compute, and a second thread to gain nothing by it."""
        return self._fixed is None and self.level == 1 < self.max_level and self._computes and self.settled

    def resume(self) -> None:
        """The task goes on."""
        self._time.run()

    def pause(self) -> None:
        """The consumer has the turn."""
        self._time.rest()

    def starved(self, seconds: float) -> None:
        """Nothing was there to do."""
        self._time.starve(seconds)

    def completed(self, number: int, rows: int, submitted: int) -> int | None:
        """A unit is done, of so many submitted; gives the new level where it changes."""
        if number < self._count_from:
            return None
        if self._first_calls:
            self._first_calls -= 1
            self._time.go_on_from(self._counted)
            return None
        self._rows += rows
        self._calls += 1
        self._unjudged_tasks = 0
        self._counted = self._time.spent
        if self._counted.busy_s < self._period_s or self._calls < max(_LEAST_CALLS, self.level):
            return None
        return self._decided(submitted)

    def next_task(self) -> None:
        """Another partition: its units are numbered anew.

        All threads begin at once, so their first calls end at once too: time counts from the last of these.
        """
        self._unjudged_tasks += 1
        if self._unjudged_tasks > _MOST_UNJUDGED_TASKS and not self.settled and self._state.search.best:
            self._give_trial_up()
        self._count_from, self._first_calls = 0, self.level

    def _decided(self, submitted: int) -> int | None:
        rows, calls, spent = self._rows, self._calls, self._counted
        busy_s = spent.busy_s
        self._rows = self._calls = 0
        self._counted = Spent()
        self._time.go_on_from(self._counted)
        if self.level == 1:
            self._computes = spent.cpu_s >= _COMPUTES_RATIO * busy_s
        if spent.starved_s > _STARVED_RATIO * busy_s:
            return None
        observation = ElementObservation(busy_s, rows, rows / busy_s, self.level, self.max_level, {"function": 1.0})
        if self._fixed is not None:
            self._write_journal(observation, calls, self._fixed, "fixed")
            return None
        setting: ElementSetting
        self._state, setting, reason = self._policy.decide(self._state, observation)
        self._write_journal(observation, calls, setting.threads, reason)
        if self.settled:
            self._tell(setting.threads)
        if setting.threads == self.level:
            return None
        self.level, self._count_from, self._first_calls = setting.threads, submitted, 1
        self._unjudged_tasks = 0
        return self.level

    def _give_trial_up(self) -> None:
        """Back to the best level that could be measured: tasks are over before this one's threads all have work."""
        search = self._state.search
        best = replace(search, stage="done", level=search.best)
        self._state = LeapingState(best, probe_periods=self._policy.probe_periods)
        nothing = ElementObservation(0.0, 0, 0.0, self.level, self.max_level, {"function": 1.0})
        self._write_journal(nothing, 0, best.level, f"tasks are too short to judge {self.level} threads")
        self.level, self._unjudged_tasks = best.level, 0

    def _tell(self, level: int) -> None:
        if self._known is not None:
            with contextlib.suppress(OSError):  # a hint for others; without it they begin at one thread
                self._known.parent.mkdir(parents=True, exist_ok=True)
                if not self._known.exists():
                    _remove_old(self._known.parent)
                draft = self._known.with_suffix(f".{os.getpid()}")
                draft.write_text(json.dumps({"level": level}))
                draft.replace(self._known)

    def _write_journal(self, observation: ElementObservation, calls: int, level: int, reason: str) -> None:
        if self._journal is None:
            return
        line = {
            "at_s": round(time.time(), 3), "pid": os.getpid(), "period_s": round(observation.period_s, 4),
            "level": observation.level, "tuples_s": round(observation.throughput_tuples_s, 2), "calls": calls,
            "next_level": level, "settled": self.settled, "reason": reason,
        }  # fmt: skip
        with self._journal.open("a") as file:
            file.write(json.dumps(line) + "\n")


def known_level_path(identity: str) -> Path:
    """Where workers of a host tell each other the level that was found."""
    return Path(temporary_directory(), "elastic", f"{identity}.json")


def _remove_old(hints: Path) -> None:
    for hint in hints.iterdir():
        with contextlib.suppress(OSError):  # others remove them too
            if time.time() - hint.stat().st_mtime > _HINT_S:
                hint.unlink()


def _read_level(path: Path | None) -> int:
    try:
        return max(1, int(json.loads(path.read_text())["level"])) if path is not None else 1
    except (OSError, ValueError, KeyError, TypeError):
        return 1
