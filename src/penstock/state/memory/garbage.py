"""When a worker process looks for garbage among all that it has: not while a task waits for it.

What lives long is frozen, so that the collection after each task does not walk it.  Objects made for a run that has
ended are among it, and map deleted files: they go when everything is looked at, which takes 0.1 s of CPU and more.
"""

from __future__ import annotations

import gc

_AFTER_TASKS = 8  # of those after which a collector is called: the first micro-batches of a run have enough to do


class WorkerGarbage:
    """What is left to collect in this process."""

    def __init__(self) -> None:
        self._has_collector = False
        self._tasks_left: int | None = None

    def expect_collector(self) -> None:
        """Says that somebody calls `collect_after_task`."""
        self._has_collector = True

    def release(self, *, freezes: bool) -> None:
        """Has what nobody refers to go, frozen or not: soon, where there is a collector and things get frozen."""
        if freezes and self._has_collector:
            if self._tasks_left is None:
                self._tasks_left = _AFTER_TASKS
            gc.freeze()
        else:
            self._collect_all(freezes=freezes)

    def collect_after_task(self) -> bool:
        """Collects if that is due, and tells so."""
        if self._tasks_left is None:
            return False
        self._tasks_left -= 1
        if self._tasks_left > 0:
            return False
        self._tasks_left = None
        self._collect_all(freezes=True)
        return True

    @staticmethod
    def _collect_all(*, freezes: bool) -> None:
        gc.unfreeze()
        gc.collect()
        if freezes:
            gc.freeze()


GARBAGE = WorkerGarbage()
