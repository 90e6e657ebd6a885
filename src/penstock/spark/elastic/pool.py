"""Threads that work on units side by side: created, suspended, woken, and ended only with the pool."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from typing import Protocol

from penstock.spark.elastic.calls import Calls, Outcome, Unit


class Pool(Protocol):
    """At most `level` calls are under way at once."""

    def set_level(self, level: int) -> None: ...

    def submit(self, unit: Unit) -> None: ...

    def take(self, timeout_s: float) -> Outcome | None:
        """The next outcome, whatever its unit; None where none came in time."""
        ...

    def close(self) -> None: ...


def pool_of(calls: Calls) -> Pool:
    return LoopPool(calls) if calls.is_async else ThreadPool(calls)


class ThreadPool:
    """Functions on threads.  A call that takes too long is given up: its thread is replaced, its result dropped."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._waiting: deque[Unit] = deque()
        self._changed = threading.Condition()
        self._done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._level = self._threads = 0
        self._running: dict[int, tuple[float, Unit]] = {}  # by thread
        self._given_up: set[int] = set()
        self._closed = False

    def set_level(self, level: int) -> None:
        with self._changed:
            self._level = level
            while self._threads - len(self._given_up) < level:
                self._start_thread()
            self._changed.notify_all()

    def submit(self, unit: Unit) -> None:
        with self._changed:
            self._waiting.append(unit)
            self._changed.notify()

    def take(self, timeout_s: float) -> Outcome | None:
        self._give_up_late_calls()
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
        threading.Thread(target=self._work, args=(self._threads,), name=f"elastic-{self._threads}", daemon=True).start()
        self._threads += 1

    def _work(self, me: int) -> None:
        while True:
            with self._changed:
                while not self._closed and (not self._waiting or len(self._running) >= self._level):
                    self._changed.wait()
                if self._closed:
                    return
                unit = self._waiting.popleft()
                self._running[me] = (time.monotonic(), unit)
            outcome = self._calls.run(unit)
            with self._changed:
                if me in self._given_up:
                    self._given_up.discard(me)
                    self._threads -= 1
                    return
                del self._running[me]
                self._changed.notify()
            self._done.put(outcome)

    def _give_up_late_calls(self) -> None:
        timeout_s = self._calls.timeout_s
        if timeout_s is None:
            return
        now_s = time.monotonic()
        with self._changed:
            late = [(me, unit) for me, (begin_s, unit) in self._running.items() if now_s - begin_s > timeout_s]
            for me, unit in late:
                del self._running[me]
                self._given_up.add(me)
                self._start_thread()
                self._done.put(self._calls.timed_out(unit))


class LoopPool:
    """Coroutines on an event loop in a thread of its own."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._waiting: deque[Unit] = deque()
        self._done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._level = 0
        self._running: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="elastic-loop", daemon=True).start()

    def set_level(self, level: int) -> None:
        self._loop.call_soon_threadsafe(self._set, level)

    def submit(self, unit: Unit) -> None:
        self._loop.call_soon_threadsafe(self._add, unit)

    def take(self, timeout_s: float) -> Outcome | None:
        try:
            return self._done.get(timeout=max(timeout_s, 0.0))
        except queue.Empty:
            return None

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._cancel)

    def _set(self, level: int) -> None:
        self._level = level
        self._fill()

    def _add(self, unit: Unit) -> None:
        self._waiting.append(unit)
        self._fill()

    def _fill(self) -> None:
        while self._waiting and len(self._running) < self._level:
            task = self._loop.create_task(self._work(self._waiting.popleft()))
            self._running.add(task)
            task.add_done_callback(self._finished)

    async def _work(self, unit: Unit) -> None:
        self._done.put(await self._calls.run_async(unit))

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._fill()

    def _cancel(self) -> None:
        self._waiting.clear()
        for task in self._running:
            task.cancel()
        self._loop.call_soon(self._loop.stop)
