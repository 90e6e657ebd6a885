"""The level of a pool, found from the rate of whole periods, stored between tasks, shared with new workers."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from penstock.control.threads.core_share import CoreShare
from penstock.control.threads.leaping_operator import FOR_SERVICES, LeapingState
from penstock.control.threads.level_search import start_search
from penstock.element.pool.busy_clock import BusyClock, Spent
from penstock.element.pool.computing_tasks import ComputingTasks
from penstock.element.pool.level_hint import LevelHint, read_level_hint, write_level_hint
from penstock.host.core_wait import core_wait_of_threads_s
from penstock.measure.element_observation import ElementObservation

_LEAST_CALLS = 8
_MOST_UNJUDGED_TASKS = 10  # in a row that a level is tried in, before it is given up as one that they cannot keep busy
_STARVED_RATIO = 0.2  # a period in which so much time went by without anything to do says nothing about the level
_LOOK = "look how much one call alone computes"


def _pool_in_line_s() -> float:
    """Of the pools' threads alone: the task's own thread may be in line while calls go on."""
    return core_wait_of_threads_s("elastic")


class LevelKeeper:
    """Counts what a pool completes while it has enough to do, and asks the policy once a period, unless it is `fixed`.

    Time in which the consumer holds the task up until nothing waits to be called, or input is awaited with nothing left
    to do, does not count; nor do calls that were begun at another level.  A period may go over several tasks: what is
    between the last call of one that counts and the first calls of the next belongs to neither.

    Calls are taken to wait until one at a time is seen to compute; then all tasks of the host that compute share its
    cores.
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
        line_clock: Callable[[], float] = _pool_in_line_s,
        computing: ComputingTasks | None = None,
    ) -> None:
        self.max_level, self._period_s, self._known = max_level, period_s, known
        self._journal = None if journal is None else LevelJournal(journal)
        self._time = BusyClock(clock, cpu_clock)
        self._line_clock = line_clock
        self._policy = FOR_SERVICES
        self._fixed = fixed
        self._computing_tasks = ComputingTasks(None) if computing is None else computing
        hint = read_level_hint(known)
        self._share = _share(hint.computing)
        self.level = min(hint.level, self._most()) if fixed is None else fixed
        self._state = self._begun()
        self._count_from = 0
        self._first_calls = 1  # calls whose ends come before time counts
        self._rows = self._calls = self._unjudged_tasks = 0
        self._counted = Spent()  # until the last call that counts
        self._in_line_since_s = line_clock()

    @property
    def settled(self) -> bool:
        return self._fixed is not None or (self._policy.settled(self._state) and not self._share.is_looking)

    @property
    def gains_nothing(self) -> bool:
        """Whether calls were seen to compute, and a second thread to gain nothing by it."""
        return self._fixed is None and self.level == 1 < self.max_level and self._computes and self.settled

    def resume(self, *, was_busy: bool = False) -> None:
        """The task goes on; `was_busy`: its threads had enough to do while it was held up."""
        self._time.run(after_all=was_busy)

    def pause(self) -> None:
        """The consumer has the turn."""
        self._time.rest()

    def starved(self, seconds: float) -> None:
        """Nothing was there to do."""
        self._time.starve(seconds)

    def completed(self, number: int, rows: int, begun: int) -> int | None:
        """A unit is done, of so many that were begun; gives the new level where it changes."""
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
        return self._decided(begun)

    def next_task(self) -> None:
        """Another partition: its units are numbered anew.

        All threads begin at once, so their first calls end at once too: time counts from the last of these.
        """
        self._unjudged_tasks += 1
        before = self.level
        if self._unjudged_tasks > _MOST_UNJUDGED_TASKS and not self.settled and self._state.search.best:
            self._give_trial_up()
        if self._fixed is None:
            self._share_cores()
            self.level = min(self.level, self._most())
        if self.level != before:
            self._begin_period()
        self._count_from, self._first_calls = 0, self.level

    def end_task(self) -> None:
        """The partition is done, or given up."""
        self._computing_tasks.leave()

    def _decided(self, begun: int) -> int | None:
        rows, calls, spent = self._rows, self._calls, self._counted
        busy_s, in_line_s = spent.busy_s, max(0.0, self._line_clock() - self._in_line_since_s)
        self._begin_period()
        if spent.starved_s > _STARVED_RATIO * busy_s:
            return None
        was_looking = self._share.is_looking
        if self._fixed is None:
            self._learn_share(_computing(spent.cpu_s, busy_s * self.level - in_line_s))
        most = self.max_level if self._fixed is not None else self._most()
        seen = ElementObservation(busy_s, rows, rows / busy_s, self.level, most, {"function": 1.0})
        level, reason = self._next_level(seen, was_looking)
        self._write_journal(seen, calls, level, reason)
        if self.settled and self._known is not None and self._fixed is None:
            write_level_hint(self._known, LevelHint(level, self._share.computing))
        if level == self.level:
            return None
        self.level, self._count_from, self._first_calls = level, begun, 1
        self._unjudged_tasks = 0
        return self.level

    def _begin_period(self) -> None:
        self._rows = self._calls = 0
        self._counted = Spent()
        self._time.go_on_from(self._counted)
        self._in_line_since_s = self._line_clock()

    def _next_level(self, seen: ElementObservation, was_looking: bool) -> tuple[int, str]:
        """By the policy, unless this period or the next one is for looking."""
        if self._fixed is not None:
            return self._fixed, "fixed"
        if self._share.is_looking:
            return 1, _LOOK
        search = self._state.search
        if was_looking and search.level > 1:
            reason = f"one call alone computes for {self._share.computing:.0%} of its time"
            return min(search.level, seen.max_level), reason
        has_new_bound = search.stage == "start" and search.max_level != seen.max_level
        if has_new_bound or search.level != self.level:  # which the bound may have moved
            self._state = self._begun()
        self._state, setting, reason = self._policy.decide(self._state, seen)
        return min(setting.threads, seen.max_level), reason

    def _learn_share(self, seen: float) -> None:
        """From the share of a call's time that it computes, without the time in line for a core."""
        cores = self._computing_tasks.cores()
        if self.level == 1:
            self._share = self._share.after_alone(seen, cores)
        else:
            at_most = self._most() <= min(self.level, self.max_level - 1)
            self._share = self._share.after_several(seen, cores, at_most=at_most)
        self._share_cores()

    def _share_cores(self) -> None:
        if self._computes:
            self._computing_tasks.join()
        else:
            self._computing_tasks.leave()

    @property
    def _computes(self) -> bool:
        return not self._share.waits

    def _most(self) -> int:
        """The most calls at once that the cores bear."""
        return min(self.max_level, self._share.most(self._computing_tasks.cores()))

    def _begun(self) -> LeapingState:
        return LeapingState(start_search(self.level, self._most()), probe_periods=self._policy.probe_periods)

    def _give_trial_up(self) -> None:
        """Back to the best level that could be measured: tasks are over before this one's threads all have work."""
        search = self._state.search
        best = replace(search, stage="done", level=search.best)
        self._state = LeapingState(best, probe_periods=self._policy.probe_periods)
        nothing = ElementObservation(0.0, 0, 0.0, self.level, self.max_level, {"function": 1.0})
        self._write_journal(nothing, 0, best.level, f"tasks are too short to judge {self.level} threads")
        self.level, self._unjudged_tasks = best.level, 0

    def _write_journal(self, seen: ElementObservation, calls: int, level: int, reason: str) -> None:
        if self._journal is not None:
            self._journal.write(seen, calls, level, settled=self.settled, reason=reason)


def _computing(cpu_s: float, ready_s: float) -> float:
    """The share of the time in which calls were not in line for a core, so that one that computes has 1."""
    return 1.0 if ready_s <= cpu_s else cpu_s / ready_s


def _share(computing: float | None) -> CoreShare:
    """What others saw; where nobody did, calls wait."""
    if computing is None:
        return CoreShare(0.0, waits=True, is_looking=False)
    return CoreShare(0.0, waits=True, is_looking=False).after_alone(computing, 1)


class LevelJournal:
    """A JSON line for each decision about the level, behind those that are there.

    A line that cannot be written logs one warning; calls go on without it.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._warned = path, False

    def write(self, seen: ElementObservation, calls: int, next_level: int, *, settled: bool, reason: str) -> None:
        line = {
            "at_s": round(time.time(), 3), "pid": os.getpid(), "period_s": round(seen.period_s, 4),
            "level": seen.level, "max_level": seen.max_level, "tuples_s": round(seen.throughput_tuples_s, 2),
            "calls": calls, "next_level": next_level, "settled": settled, "reason": reason,
        }  # fmt: skip
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            self._warn(error)

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            print(
                f"elastic_map: the journal '{self._path}' cannot be written on this host; it goes on without: {error}",
                file=sys.stderr,
                flush=True,
            )
