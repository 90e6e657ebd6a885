"""How long a pool was at work: on the clock, on cores, and without anything to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_CPU_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of the same stretches of time; `starved_s` is a part of `busy_s`."""

    busy_s: float = 0.0
    cpu_s: float = 0.0
    starved_s: float = 0.0


class BusyClock:
    """Runs and rests.  Stretches that shall not count are taken back, by going on from what was spent before them."""

    def __init__(self, clock: Callable[[], float], cpu_clock: Callable[[], float]) -> None:
        self._clock, self._cpu_clock = clock, cpu_clock
        self._before = Spent()  # the clock ran last
        self._since: tuple[float, float] | None = None  # it runs, on both clocks
        self._rest_from: tuple[Spent, tuple[float, float]] | None = None  # as it ran before it rested
        self._read = (float("-inf"), 0.0)  # both clocks, when cores were last asked

    @property
    def spent(self) -> Spent:
        """Cores are asked now and then only: that takes the longer the more threads there are."""
        return self._spent(_CPU_EVERY_S)

    def _spent(self, every_s: float) -> Spent:
        before = self._before
        if self._since is None:
            return before
        since_s, cpu_since_s = self._since
        now_s = self._clock()
        if now_s - self._read[0] >= every_s:
            self._read = now_s, self._cpu_clock()
        return Spent(before.busy_s + now_s - since_s, before.cpu_s + self._read[1] - cpu_since_s, before.starved_s)

    def run(self, *, after_all: bool = False) -> None:
        """From now on; `after_all` it ran through the rest, too."""
        if after_all and self._rest_from is not None:
            self._before, self._since = self._rest_from
        else:
            self.go_on_from(self._spent(0.0))

    def rest(self) -> None:
        self._rest_from = None if self._since is None else (self._before, self._since)
        self._before, self._since = self._spent(0.0), None

    def starve(self, seconds: float) -> None:
        """So much of the time went by with nothing to do."""
        before = self._before
        self._before = Spent(before.busy_s, before.cpu_s, before.starved_s + seconds)

    def go_on_from(self, spent: Spent) -> None:
        """Whatever came after that does not count; from now on it runs."""
        self._read = self._clock(), self._cpu_clock()
        self._before, self._since = spent, self._read
