"""A thread slot: what a thread of an element is doing, for all to see."""

from __future__ import annotations

import contextlib
import threading
import time

from penstock.element.threads.stage import ThreadedStage
from penstock.element.threads.step import Step


class ThreadSlot:
    """`stage` is the one the thread is in, None while it is idle; writing it costs a thread next to nothing.

    `clock` is its CPU clock, which other threads can read while it lives.
    """

    __slots__ = ("_cpu_s", "clock", "native_id", "stage", "step", "untimed")

    def __init__(self) -> None:
        self.stage: ThreadedStage | None = None
        self.step: Step | None = None
        self.untimed = 0  # calls until the next one that is timed
        self.native_id = 0
        self._cpu_s = 0.0
        self.clock: int | None = None

    def take(self) -> None:
        """Called on the thread that takes it, so that others can read its clock."""
        self.native_id = threading.get_native_id()
        self.clock = time.pthread_getcpuclockid(threading.get_ident())

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the thread so far; of one that has ended, when it was last asked."""
        if self.clock is not None:
            with contextlib.suppress(OSError):
                self._cpu_s = time.clock_gettime(self.clock)
        return self._cpu_s
