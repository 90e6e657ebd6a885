"""The cap of micro-batches: small enough that none holds up decisions for long, whatever a tuple costs.

A micro-batch is a barrier.  One that took a long backlog at once would run for minutes with the Configuration it began
with.  Only the work that tuples cause counts: where a micro-batch takes its time whatever is in it (workers that start,
a machine that is busy elsewhere), a smaller one would bring less and be hardly shorter, and the backlog would grow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

LONGEST_WORK_S = 2.0
_RATIO = 4
_LEAST_TUPLES, _FIRST_TUPLES = 256, 16_384
_FULL = 0.8
_GROWTH = 1.05
_PROBING = 2  # the growth of work that is expected from a larger cap while its fixed part is not known
_APART = 2  # the ratio of two sizes from which on they tell what a tuple costs
_LEAP = 3  # places of the ladder at most from one micro-batch to the next: 64 times the tuples
_FIRST_ARRIVALS_S = 1.0  # the first micro-batch holds less than that, and the next may hold what came in this time
_TELLING_TUPLES, _TELLING_WORK_S = 64, 0.5  # so many tuples within this: they cost less than 8 ms each


def cap_ladder(highest_tuples: int) -> tuple[int, ...]:
    """The caps to choose from, ascending to the highest.

    >>> cap_ladder(20_000)
    (312, 1250, 5000, 20000)
    """
    caps = [highest_tuples]
    while caps[0] // _RATIO >= _LEAST_TUPLES:
        caps.insert(0, caps[0] // _RATIO)
    return tuple(caps)


@dataclass(frozen=True, slots=True)
class CapPace:
    """The largest cap whose work is done in time, as far as was seen.

    `fixed_s`: work of a micro-batch without tuples, from two that differed in size (None before); `last`: the latest.
    """

    ladder: tuple[int, ...]
    place: int
    fixed_s: float | None = None
    last: tuple[int, float] | None = None

    @property
    def cap_tuples(self) -> int:
        return self.ladder[self.place]

    def is_full(self, tuples: int) -> bool:
        """Whether a micro-batch of so many tuples may be a reason to take more, if there is a higher cap."""
        return tuples >= _FULL * self.cap_tuples and self.place + 1 < len(self.ladder)

    def after(self, tuples: int, work_s: float, *, may_shrink: bool = True, arriving_tuples_s: float = 0.0) -> CapPace:
        """After a micro-batch, whose busiest replicas worked so long: up where it was full and short, down if long.

        Up by several places where all of them were in time even if tuples caused all of the work that was seen.  After
        the first micro-batch, which mostly has few tuples, up to what arrives in a second.
        """
        if tuples <= 0:
            return self
        fixed_s = self._fixed_s(tuples, work_s)
        known = replace(self, fixed_s=fixed_s, last=(tuples, work_s))
        caused_s = work_s - (fixed_s or 0.0)
        if caused_s > LONGEST_WORK_S:
            if not may_shrink:
                return known
            return replace(known, place=min(self._highest_in_time(caused_s / tuples), self.place))
        if self.is_full(tuples):
            longer = _RATIO if fixed_s is not None else _PROBING
            next_place = self.place + (longer * caused_s <= LONGEST_WORK_S)
            leap = min(self._highest_in_time(work_s / tuples), self.place + _LEAP)
            return replace(known, place=max(next_place, leap))
        if self.last is None and tuples >= _TELLING_TUPLES and work_s <= _TELLING_WORK_S:
            return replace(known, place=max(self.place, self._highest_within(arriving_tuples_s * _FIRST_ARRIVALS_S)))
        return known

    def _highest_in_time(self, tuple_s: float) -> int:
        """The place of the highest cap that is worked off in time where a tuple costs so much."""
        return max((i for i, cap in enumerate(self.ladder) if cap * tuple_s <= LONGEST_WORK_S), default=0)

    def _highest_within(self, tuples: float) -> int:
        return max((i for i, cap in enumerate(self.ladder) if cap <= tuples), default=0)

    def _fixed_s(self, tuples: int, work_s: float) -> float | None:
        """Where the line through this micro-batch and the last one begins; no batch takes less than this."""
        found_s = self.fixed_s
        if self.last is not None:
            (fewer, least_s), (more, most_s) = sorted([self.last, (tuples, work_s)])
            if more >= _APART * fewer:
                found_s = least_s - fewer * max(most_s - least_s, 0.0) / (more - fewer)
        return None if found_s is None else min(max(found_s, 0.0), work_s)


def first_pace(highest_tuples: int) -> CapPace:
    """Begins low: what a tuple costs is not known yet."""
    ladder = cap_ladder(highest_tuples)
    return CapPace(ladder, max((i for i, cap in enumerate(ladder) if cap <= _FIRST_TUPLES), default=0))


def grows(rate_tuples_s: float, before_tuples_s: float | None) -> bool:
    """Whether more tuples come than before, beyond what rates vary anyway."""
    return before_tuples_s is not None and rate_tuples_s > _GROWTH * before_tuples_s
