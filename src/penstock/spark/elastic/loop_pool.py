"""Coroutines on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque

from penstock.element.operators.python_functions import failure
from penstock.spark.elastic.calls import Calls, Outcome, Unit
from penstock.spark.elastic.progress import FAILURES, Progress


class LoopPool:
    """A call that takes too long is cancelled, at the `await` it is in."""

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
            task = self._loop.create_task(self._work(Progress(self._calls, self._waiting.popleft())))
            self._running.add(task)
            task.add_done_callback(self._finished)

    async def _work(self, progress: Progress) -> None:
        progress.begin()
        while not progress.done:
            if progress.pause_s:
                await asyncio.sleep(progress.pause_s)
            await self._call(progress)
        self._done.put(progress.outcome())

    async def _call(self, progress: Progress) -> None:
        scope = asyncio.timeout(self._calls.timeout_s)
        try:
            async with scope:
                result = await self._calls.function(progress.argument)
        except FAILURES as raised:
            progress.failed(self._calls.late if scope.expired() else failure(raised))
            return
        if scope.expired():  # it paid no heed to being cancelled
            progress.was_late()
        else:
            progress.gave(result)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._fill()

    def _cancel(self) -> None:
        self._waiting.clear()
        for task in self._running:
            task.cancel()
        self._loop.call_soon(self._loop.stop)
