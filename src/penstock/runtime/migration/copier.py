"""Copies slots to the hosts they are going to, portion by portion, while micro-batches run."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping

from penstock.plan.placement.moves import Moves
from penstock.plan.placement.placement import Placement
from penstock.runtime.migration.copies import Copies, Movable, Portion, Published
from penstock.runtime.migration.stale_copies import Leftover, Leftovers, needed_slots
from penstock.state.extents import Integers

_log = logging.getLogger(__name__)

RunPortion = Callable[[Portion], Mapping[str, Integers]]
Release = Callable[[Leftover], Mapping[str, Integers]]
_REST_RATIO = 1.0  # pause after each portion, as a share of the time it took: micro-batches go on meanwhile
_REST_MAX_S = 1.0
_LOOK_EVERY_S = 60.0  # whether anything is left over, where no batches come


class Copier:
    """The copies of one query; `run` brings a portion to its hosts and gives the slots that have arrived, by host.

    `release` has hosts give back what they no longer need, and says what they did.  Nothing depends on either but time
    and memory: a slot that is not there is rebuilt by the task that needs it.
    """

    def __init__(self, run: RunPortion, release: Release, clock: Callable[[], float] = time.monotonic) -> None:
        self._run, self._release, self._clock = run, release, clock
        self._copies, self._leftovers, self._lock = Copies(), Leftovers(), threading.Lock()
        self._published: Published | None = None
        self._moves: Mapping[Movable, Moves] = {}
        self._served: tuple[object, ...] = ()

    def want(self, moves_by_element: Mapping[Movable, Moves], hosts: set[str]) -> None:
        with self._lock:
            self._copies.want(moves_by_element, hosts)
            self._moves = moves_by_element

    def serve(self, placements: Mapping[Movable, Placement], hosts: set[str]) -> None:
        """From now on elements are placed so; what hosts have beyond that, and beyond what was wanted, is left over."""
        served = placements, hosts, self._moves
        if served != self._served:
            with self._lock:
                batch = -1 if self._published is None else self._published.batch
                self._leftovers.note(needed_slots(placements, self._moves), hosts, self._clock(), batch)
            self._served = served

    def published(self, published: Published) -> None:
        """A batch counts: copies go on to it."""
        with self._lock:
            self._published = published

    def is_ready(self, element: Movable, moves: Moves, lag: int) -> bool:
        """Whether slots lack at most the newest `lag` batches on the hosts they go to."""
        with self._lock:
            return self._published is None or self._copies.is_ready(element, moves, self._published, lag)

    def left(self) -> dict[str, tuple[int, int]]:
        """By element, the slots that are on their way and the bytes that they lack."""
        with self._lock:
            return {} if self._published is None else self._copies.left(self._published)

    def step(self) -> bool:
        """Copies one portion; False where there is none."""
        with self._lock:
            portion = None if self._published is None else self._copies.next_portion(self._published)
        if portion is None:
            return False
        started_s = time.monotonic()
        try:
            done = self._run(portion)
        except Exception as error:
            _log.info("slots of '%s' were not copied: %s", portion.element.name, str(error).split("\n", 1)[0])
            with self._lock:
                self._copies.failed(portion)
        else:
            with self._lock:
                self._copies.note(portion, done, time.monotonic() - started_s)
        return True

    def tidy(self) -> bool:
        """Has hosts give back what was left over for long enough; False where there is nothing of the kind."""
        with self._lock:
            leftover = self._leftovers.due(self._clock())
        if leftover is None:
            return False
        try:
            released = self._release(leftover)
        except Exception as error:
            _log.info("leftovers of '%s' were not released: %s", leftover.element.name, str(error).split("\n", 1)[0])
        else:
            with self._lock:
                self._leftovers.released(leftover.element, released)
                self._copies.forget(leftover.element, released)
        return True

    def stop(self) -> None:
        """Copies nothing any more."""


class BackgroundCopier(Copier):
    """Copies in a thread of the driver, where there are several hosts; `arrived` is called when all is there."""

    def __init__(self, run: RunPortion, release: Release, arrived: Callable[[], None]) -> None:
        super().__init__(run, release)
        self._arrived = arrived
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def want(self, moves_by_element: Mapping[Movable, Moves], hosts: set[str]) -> None:
        super().want(moves_by_element, hosts)
        if any(moves_by_element.values()):
            self._begin()
            self._wake.set()

    def serve(self, placements: Mapping[Movable, Placement], hosts: set[str]) -> None:
        super().serve(placements, hosts)
        if len(hosts) > 1:
            self._begin()

    def published(self, published: Published) -> None:
        super().published(published)
        self._wake.set()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=30.0)

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="penstock-copier", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            if self._with_rests(self.step) and not self._stopping.is_set():
                self._arrived()
            self._with_rests(self.tidy, most=1)  # copies go first again
            self._wake.wait(_LOOK_EVERY_S)

    def _with_rests(self, work: Callable[[], bool], most: int = sys.maxsize) -> bool:
        """Works for as long as there is something to do, with pauses; tells whether there was."""
        for count in range(most):
            started_s = time.monotonic()
            if self._stopping.is_set() or not work():
                return count > 0
            self._stopping.wait(min((time.monotonic() - started_s) * _REST_RATIO, _REST_MAX_S))
        return True
