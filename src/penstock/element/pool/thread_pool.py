"""Functions on threads: created, suspended, woken, and ended only with the pool or after a call that was given up."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from typing import Any

from penstock.element.pool.calls import Calls, ElasticFailure, Outcome, Unit
from penstock.element.pool.progress import Progress
from penstock.operators.python_functions import failure

MOST_LEFT_BEHIND = 64  # a thread in a call cannot be ended, and each has its stack
_LOOK_S = 0.05  # between two looks for late calls


class ThreadPool:
    """A call that takes too long is given up: its thread is left behind and replaced, what it gives is dropped.

    Another thread goes on with its unit, at the same call where attempts are left, else at the next one.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._waiting: deque[Progress] = deque()
        self._changed = threading.Condition()
        self._done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._level = self._threads = self._left_behind = self._started = 0
        self._at_work: set[_Desk] = set()
        self._looked_s = time.monotonic()
        self._closed = False

    def set_level(self, level: int) -> None:
        with self._changed:
            self._level = level
            while self._threads < level:
                self._start_thread()
            self._changed.notify_all()

    def submit(self, unit: Unit) -> None:
        with self._changed:
            self._waiting.append(Progress(self._calls, unit))
            self._changed.notify()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take(self, timeout_s: float) -> Outcome | None:
        if self._calls.timeout_s is not None:
            self._look_for_late_calls(self._calls.timeout_s)
        try:
            return self._done.get(timeout=max(timeout_s, 0.0))
        except queue.Empty:
            return None

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()

    def _start_thread(self) -> None:
        threading.Thread(target=self._work, name=f"elastic-{self._started}", daemon=True).start()
        self._started += 1
        self._threads += 1

    def _work(self) -> None:
        while (desk := self._next_desk()) is not None:
            outcome = self._outcome(desk)
            with self._changed:
                if outcome is None:
                    self._left_behind -= 1
                    return
                self._at_work.remove(desk)
                self._changed.notify()
            self._done.put(outcome)

    def _next_desk(self) -> _Desk | None:
        with self._changed:
            while not self._closed and (not self._waiting or len(self._at_work) >= self._level):
                self._changed.wait()
            if self._closed:
                return None
            desk = _Desk(self._waiting.popleft())
            self._at_work.add(desk)
            return desk

    def _outcome(self, desk: _Desk) -> Outcome | None:
        """What became of a unit; None where a call was given up, and the unit is somebody else's."""
        try:
            return desk.progress.outcome() if self._finished(desk) else None
        except BaseException as raised:  # a thread that ended here would leave its unit unanswered for ever
            return desk.progress.broke(raised)

    def _finished(self, desk: _Desk) -> bool:
        """Makes the calls of a unit; False where one was given up."""
        progress, timeout_s = desk.progress, self._calls.timeout_s
        progress.begin()
        while progress.has_call() and not self._closed:
            if progress.pause_s:
                time.sleep(progress.pause_s)
            if timeout_s is not None:
                desk.begin_call()
            result, error = self._called(progress.argument)
            late = timeout_s is not None and desk.end_call() > timeout_s
            if desk.left:
                return False
            if late:
                progress.was_late()
            elif error is not None:
                progress.failed(error)
            else:
                progress.gave(result)
        return True

    def _called(self, argument: Any) -> tuple[Any, str | None]:
        try:
            return self._calls.function(argument), None
        except BaseException as raised:  # whatever it is, it concerns its rows alone
            return None, failure(raised)

    def _look_for_late_calls(self, timeout_s: float) -> None:
        now_s = time.monotonic()
        if now_s - self._looked_s < min(_LOOK_S, timeout_s / 4):
            return
        self._looked_s = now_s
        with self._changed:
            for desk in [desk for desk in self._at_work if desk.leave(now_s - timeout_s)]:
                self._replace(desk)
        if self._left_behind > MOST_LEFT_BEHIND:
            raise ElasticFailure(
                f"has more than {MOST_LEFT_BEHIND} calls that {self._calls.late} and still have not come back; a "
                "thread cannot be ended from outside: let the function end its own waiting (a timeout of its client)"
            )

    def _replace(self, desk: _Desk) -> None:
        """Another thread goes on with the unit, before all others, since its rows may be waited for."""
        self._at_work.remove(desk)
        self._left_behind += 1
        self._threads -= 1
        if self._threads < self._level:
            self._start_thread()
        desk.progress.was_late()
        self._waiting.appendleft(desk.progress)
        self._changed.notify()


class _Desk:
    """A thread at a unit; with a timeout, since when it has been in a call.  Who leaves it has no say any more."""

    __slots__ = ("_began_s", "_lock", "left", "progress")

    def __init__(self, progress: Progress) -> None:
        self.progress, self.left = progress, False
        self._began_s: float | None = None
        self._lock = threading.Lock()

    def begin_call(self) -> None:
        self._began_s = time.monotonic()

    def end_call(self) -> float:
        """The seconds it took; from here on it cannot be left."""
        with self._lock:
            assert self._began_s is not None
            took_s, self._began_s = time.monotonic() - self._began_s, None
            return took_s

    def leave(self, latest_s: float) -> bool:
        """Gives the call up if it began before that."""
        with self._lock:
            self.left = self._began_s is not None and self._began_s < latest_s
            return self.left
