"""Cores of the host that nobody used, as far as this process may run on them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

_IDLE, _IO_WAIT = 4, 5  # columns of a core's line in /proc/stat, counted from its name


def idle_seconds(path: str = "/proc/stat") -> float | None:
    """Seconds that this process's cores were idle since the system started, summed; None where nobody says."""
    wanted = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    try:
        with open(path) as file:
            lines = [line.split() for line in file if line.startswith("cpu")]
    except OSError:
        return None
    own = [line for line in lines if line[0] in wanted and len(line) > _IO_WAIT]
    ticks_s = os.sysconf("SC_CLK_TCK")
    return sum(int(line[_IDLE]) + int(line[_IO_WAIT]) for line in own) / ticks_s if own else None


class IdleCores:
    """The mean over the time between `resume` and `pause`: between tasks all cores may be idle, which says nothing."""

    def __init__(
        self, read: Callable[[], float | None] = idle_seconds, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._read, self._clock = read, clock
        self._begin: tuple[float, float] | None = None
        self._idle_s = self._seconds = 0.0

    def resume(self) -> None:
        idle_s = self._read()
        self._begin = None if idle_s is None else (idle_s, self._clock())

    def pause(self) -> None:
        if self._begin is None:
            return
        idle_s = self._read()
        if idle_s is not None:
            self._idle_s += idle_s - self._begin[0]
            self._seconds += self._clock() - self._begin[1]
        self._begin = None

    def take(self) -> float | None:
        """The cores since the last time, None where nothing was measured; goes on if it was running."""
        is_measuring = self._begin is not None
        self.pause()
        idle_s, seconds = self._idle_s, self._seconds
        self._idle_s = self._seconds = 0.0
        if is_measuring:
            self.resume()
        return max(idle_s, 0.0) / seconds if seconds > 0 else None
