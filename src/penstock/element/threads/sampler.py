"""The sampler: looks every few milliseconds at what each thread is doing, and counts (MULTILEVEL, section 3)."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from penstock.element.threads.seat import Seat

PERIOD_S = 0.01


class Sampler(threading.Thread):
    """How often a thread was seen in each operator: its relative cost. Sleeps while the element has no input."""

    def __init__(self, seats: Mapping[int, Seat], period_s: float = PERIOD_S) -> None:
        super().__init__(name="penstock-sampler", daemon=True)
        self._seats, self._period_s = seats, period_s
        self._has_input, self._end = threading.Event(), threading.Event()
        self.seat = Seat()
        self.counts: dict[str, float] = {}

    def resume(self) -> None:
        self._has_input.set()

    def pause(self) -> None:
        self._has_input.clear()

    def end(self) -> None:
        self._end.set()
        self._has_input.set()

    def run(self) -> None:
        self.seat.take(threading.get_ident())
        while not self._end.wait(self._period_s):
            self.sample()
            self._has_input.wait()

    def sample(self) -> None:
        """One look at all threads."""
        for seat in list(self._seats.values()):
            stage = seat.stage
            if stage is not None:
                name = stage.operator.name
                self.counts[name] = self.counts.get(name, 0.0) + 1.0
