"""The mean time of a tuple, from steps of which some may do the work of many."""

from __future__ import annotations

from dataclasses import dataclass, field

_FAST, _SLOW, _RIPPLE_PACE = 0.4, 0.08, 0.15
_BURSTY = 0.6
_HIGHEST = 2.0
_NOTHING = 0.02


@dataclass(frozen=True, slots=True)
class Smoothed:
    """Busy seconds over tuples, both smoothed alike, so that steps count by their tuples."""

    pace: float
    busy_s: float = 0.0
    tuples: float = 0.0

    def learn(self, busy_s: float, tuples: float) -> Smoothed:
        if self.tuples == 0:
            return Smoothed(self.pace, busy_s, tuples)
        return Smoothed(
            self.pace,
            self.busy_s + self.pace * (busy_s - self.busy_s),
            self.tuples + self.pace * (tuples - self.tuples),
        )

    @property
    def mean_s(self) -> float | None:
        return self.busy_s / self.tuples if self.tuples > 0 and self.busy_s > 0 else None


@dataclass(frozen=True, slots=True)
class ServiceTime:
    """Follows a change within a few steps, and looks at the long run where windows fire in bursts.

    `ripple`: by how much steps differ from the long run, smoothed.  A change of the service time lifts it for a moment
    only, windows that fire every few steps for good.
    """

    fast: Smoothed = field(default_factory=lambda: Smoothed(_FAST))
    slow: Smoothed = field(default_factory=lambda: Smoothed(_SLOW))
    ripple: float = 0.0

    def learn(self, busy_s: float, tuples: float) -> ServiceTime:
        if tuples <= 0:
            return self
        known_s = self.slow.mean_s
        ripple = self.ripple
        if known_s is not None:
            ripple += _RIPPLE_PACE * (min(abs(busy_s / tuples / known_s - 1), _HIGHEST) - ripple)
            if busy_s / tuples < _NOTHING * known_s:  # tuples that cost nothing are collected for a firing
                ripple = max(ripple, 1.0)
        return ServiceTime(self.fast.learn(busy_s, tuples), self.slow.learn(busy_s, tuples), ripple)

    @property
    def bursty(self) -> bool:
        return self.ripple > _BURSTY

    @property
    def mean_s(self) -> float | None:
        """None where nothing was measured yet."""
        return self.slow.mean_s if self.bursty else self.fast.mean_s
