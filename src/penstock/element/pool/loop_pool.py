"""Coroutines on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections import deque

from penstock.element.pool.calls import Calls, Outcome, Unit
from penstock.element.pool.progress import Progress
from penstock.operators.python_functions import failure

_END_S = 1.0  # that coroutines have to end when the pool is closed


class LoopPool:
    """A call that takes too long is cancelled, at the `await` it is in."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._waiting: deque[Unit] = deque()
        self._done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._level = 0
        self._active: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._closed = False
        threading.Thread(target=self._run, name="elastic-loop", daemon=True).start()

    def set_level(self, level: int) -> None:
        self._loop.call_soon_threadsafe(self._set, level)

    def submit(self, unit: Unit) -> None:
        self._loop.call_soon_threadsafe(self._add, unit)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take(self, timeout_s: float) -> Outcome | None:
        try:
            return self._done.get(timeout=max(timeout_s, 0.0))
        except queue.Empty:
            return None

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is closed already
            self._loop.call_soon_threadsafe(self._stop)

    def _run(self) -> None:
        while not self._closed:
            # A task of the function's own that wants to end the process (SystemExit) has failed, and ends the loop.
            with contextlib.suppress(BaseException):
                self._loop.run_forever()
        try:
            self._loop.run_until_complete(_end_all(self._loop))
        finally:
            self._loop.close()

    def _set(self, level: int) -> None:
        self._level = level
        self._fill()

    def _add(self, unit: Unit) -> None:
        self._waiting.append(unit)
        self._fill()

    def _fill(self) -> None:
        while self._waiting and len(self._active) < self._level:
            task = self._loop.create_task(self._work(Progress(self._calls, self._waiting.popleft())))
            self._active.add(task)
            task.add_done_callback(self._finished)

    async def _work(self, progress: Progress) -> None:
        try:
            progress.begin()
            while progress.has_call():
                if progress.pause_s:
                    await asyncio.sleep(progress.pause_s)
                await self._call(progress)
            outcome = progress.outcome()
        except BaseException as raised:  # a task that ended here would leave its unit unanswered for ever
            if self._closed:
                raise
            outcome = progress.broke(raised)
        self._done.put(outcome)

    async def _call(self, progress: Progress) -> None:
        scope = asyncio.timeout(self._calls.timeout_s)
        try:
            async with scope:
                result = await self._calls.function(progress.argument)
        except BaseException as raised:  # whatever it is, CancelledError too, it concerns its rows alone
            if self._closed:
                raise
            progress.failed(self._calls.late if scope.expired() else failure(raised))
            return
        if scope.expired():  # it paid no heed to being cancelled
            progress.was_late()
        else:
            progress.gave(result)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._active.discard(task)
        self._fill()

    def _stop(self) -> None:
        self._closed = True
        self._waiting.clear()
        self._loop.stop()


async def _end_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_END_S)
    await loop.shutdown_asyncgens()
