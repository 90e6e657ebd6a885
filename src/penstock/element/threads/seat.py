"""A seat: what a thread of an element is doing, for all to see."""

from __future__ import annotations

import contextlib
import time

from penstock.element.threads.stage import ThreadedStage
from penstock.element.threads.step import Step


class Seat:
    """`stage` is the one the thread is in, None while it is idle; writing it costs a thread next to nothing."""

    __slots__ = ("_cpu_s", "calls", "clock", "stage", "step")

    def __init__(self) -> None:
        self.stage: ThreadedStage | None = None
        self.step: Step | None = None
        self.calls = 0
        self.clock: int | None = None
        self._cpu_s = 0.0

    def take(self, ident: int) -> None:
        """Called on the thread that sits here, so that others can read its CPU clock."""
        self.clock = time.pthread_getcpuclockid(ident)

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the thread so far; of one that has ended, when it was last asked."""
        if self.clock is not None:
            with contextlib.suppress(OSError):
                self._cpu_s = time.clock_gettime(self.clock)
        return self._cpu_s
