"""What works on units side by side: threads, or an event loop."""

from __future__ import annotations

from typing import Protocol

from penstock.element.pool.calls import Calls, Outcome, Unit
from penstock.element.pool.loop_pool import LoopPool
from penstock.element.pool.thread_pool import ThreadPool


class Pool(Protocol):
    """At most `level` calls are under way at once, beside those that were given up and have not come back."""

    def set_level(self, level: int) -> None: ...

    def submit(self, unit: Unit) -> None: ...

    @property
    def waiting(self) -> int:
        """Units that were submitted and not begun, by a rough count."""
        ...

    def take(self, timeout_s: float) -> Outcome | None:
        """The next outcome, whatever its unit; None where none came in time."""
        ...

    def close(self) -> None: ...


def pool_of(calls: Calls) -> Pool:
    return LoopPool(calls) if calls.is_async else ThreadPool(calls)
