"""How much of its time a thread computes, and how many such threads the cores bear.

It counts only as measured with one thread alone. Beside others a thread also waits for the GIL, for as long as whoever
has it stands in line for a core, and nothing tells that from waiting for a service: such a figure is a lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

_WAITS, _COMPUTES = 0.5, 0.75  # a share below which a thread waits rather than computes, above which it does no longer
_MORE = 1.25  # so many more threads are worth a look
_LOOK_PERIODS, _LONGEST_LOOK_PERIODS = 10, 480
_LEAST_SHARE = 1e-3


@dataclass(frozen=True, slots=True)
class CoreShare:
    """The `computing` share of a thread's time in calls, 1 until something else is known.

    To learn more, one thread has to run alone for two periods in a row, of which the one that computed more counts:
    that is a look. `before` is the share of the first of them, which may still have seen other threads end. The next
    look is due after `wait_periods`, which are doubled each time it was in vain; `periods` have passed since the last.
    """

    computing: float = 1.0
    waits: bool = False
    is_looking: bool = True
    before: float | None = None
    periods: int = 0
    wait_periods: int = _LOOK_PERIODS

    def most(self, cores: int) -> int:
        """Threads that so many cores bear: one each, unless they wait."""
        return max(cores, threads_for(cores, self.computing)) if self.waits else cores

    def after_alone(self, seen: float | None, cores: int) -> CoreShare:
        """After a period of one thread alone; `seen` is None where no call was timed."""
        if seen is None:
            return replace(self, is_looking=False, before=None, periods=0)
        if self.before is None and seen < _WAITS:
            return replace(self, is_looking=self.is_looking or not self.waits, before=seen)
        found = self._found(seen if self.before is None else max(seen, self.before))
        found = replace(found, is_looking=False, before=seen, periods=0)
        if not self.is_looking:
            return found
        in_vain = found.most(cores) < _MORE * self.most(cores)
        wait_periods = min(2 * self.wait_periods, _LONGEST_LOOK_PERIODS) if in_vain else _LOOK_PERIODS
        return replace(found, wait_periods=wait_periods)

    def after_several(self, seen: float | None, cores: int, *, at_most: bool) -> CoreShare:
        """After a period of several threads; `at_most`: as many as the cores bear, and fewer than the user allows."""
        if seen is None:
            return self
        known = replace(self, is_looking=False, before=None, periods=self.periods + 1)
        if seen > _COMPUTES and self.waits:
            return replace(known, computing=seen, waits=False)
        seems = replace(self, computing=seen, waits=seen < _WAITS)
        may_bear_more = at_most and seems.most(cores) >= _MORE * self.most(cores)
        return replace(known, is_looking=may_bear_more and known.periods >= self.wait_periods)

    def _found(self, computing: float) -> CoreShare:
        return replace(self, computing=computing, waits=computing < (_COMPUTES if self.waits else _WAITS))


UNKNOWN = CoreShare()


def threads_for(cores: int, computing: float) -> int:
    """Threads that keep the cores full: on average they want the cores, and one standard deviation more.

    >>> threads_for(4, 1.0), threads_for(4, 0.2), threads_for(1, 0.45)
    (4, 31, 4)
    """
    share = min(max(computing, _LEAST_SHARE), 1.0)
    # n c - sqrt(n c (1 - c)) <= cores         n threads, each on a core or in line for one for c of its time
    spread = math.sqrt(1 - share)
    return int(((spread + math.sqrt(spread**2 + 4 * cores)) / 2) ** 2 / share + 1e-9)
