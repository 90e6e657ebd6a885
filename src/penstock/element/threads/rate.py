"""Throughput of an element: tuples of complete steps over the time it was busy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class Rate:
    """A sliding window of (busy seconds, tuples so far), one entry per complete step.

    The clock stands still between `pause` and `resume`: time without input says nothing about an element. The rate is
    that between the oldest and the newest entry (ELASTIC, section 3).

    >>> seconds = iter([0.0, 1.0, 3.0, 3.0])
    >>> rate = Rate(lambda: next(seconds))
    >>> rate.resume(); rate.add(10); rate.add(40); rate.tuples_s
    20.0
    """

    def __init__(self, clock: Callable[[], float], window_s: float = 1.0) -> None:
        self._clock, self._window_s = clock, window_s
        self._entries: deque[tuple[float, int]] = deque()
        self._busy_s, self._since_s = 0.0, 0.0
        self.is_running = False
        self.tuples = 0

    @property
    def busy_s(self) -> float:
        """Seconds during which the element had input."""
        return self._busy_s + (self._clock() - self._since_s if self.is_running else 0.0)

    def resume(self) -> None:
        if not self.is_running:
            self._since_s, self.is_running = self._clock(), True

    def pause(self) -> None:
        if self.is_running:
            self._busy_s, self.is_running = self.busy_s, False

    def add(self, tuples: int) -> None:
        """A step is complete."""
        now_s = self.busy_s
        self.tuples += tuples
        entries = self._entries
        entries.append((now_s, self.tuples))
        while len(entries) > 2 and entries[1][0] < now_s - self._window_s:
            entries.popleft()

    @property
    def last(self) -> tuple[float, int]:
        """Busy seconds and tuples when the newest step was complete; zeros before the first."""
        return self._entries[-1] if self._entries else (0.0, 0)

    @property
    def tuples_s(self) -> float:
        """Tuples per second within the window; 0 while fewer than two steps are in it."""
        if len(self._entries) < 2:
            return 0.0
        (from_s, from_tuples), (to_s, to_tuples) = self._entries[0], self._entries[-1]
        return (to_tuples - from_tuples) / (to_s - from_s) if to_s > from_s else 0.0
