"""Throughput of an element: tuples of complete steps over the time it was busy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Moment(NamedTuple):
    """When a step was complete: in busy seconds, and with how many tuples so far."""

    busy_s: float = 0.0
    tuples: int = 0

    def tuples_s(self, earlier: Moment) -> float:
        """Tuples per second since an earlier moment, the rate between two timestamps (ELASTIC, section 3).

        >>> Moment(3.0, 50).tuples_s(Moment(1.0, 10))
        20.0
        """
        seconds = self.busy_s - earlier.busy_s
        return (self.tuples - earlier.tuples) / seconds if seconds > 0 else 0.0


class Rate:
    """Notes when steps are complete; its clock stands still between `pause` and `resume`.

    Time without input says nothing about an element; time with little of it counts at a lower speed.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._busy_s, self._since_s, self._speed = 0.0, 0.0, 1.0
        self.is_started = False
        self.last = Moment()

    @property
    def busy_s(self) -> float:
        """Seconds during which the element had input."""
        return self._busy_s + ((self._clock() - self._since_s) * self._speed if self.is_started else 0.0)

    def resume(self) -> None:
        if not self.is_started:
            self._since_s, self._speed, self.is_started = self._clock(), 1.0, True

    def go_at(self, speed: float) -> None:
        """From now on a second counts for `speed` seconds."""
        self._busy_s, self._since_s, self._speed = self.busy_s, self._clock(), speed

    def pause(self) -> None:
        if self.is_started:
            self._busy_s, self.is_started = self.busy_s, False

    def add(self, tuples: int) -> None:
        """A step is complete."""
        self.last = Moment(self.busy_s, self.last.tuples + tuples)
