"""Whether a rate is still the one it was: its level, its own noise, and a change that noise does not explain."""

from __future__ import annotations

from dataclasses import dataclass

_ANCHOR_PERIODS = 10
_WEIGHT = 0.3
_SIGMAS = 5.0


@dataclass(frozen=True, slots=True)
class Steadiness:
    """`anchor` is the mean of the first periods, `smoothed` follows the rate, `variance` is that of single periods.

    It counts each difference a period late: `newest` is yet to come.
    """

    periods: int = 0
    anchor: float = 0.0
    smoothed: float = 0.0
    last: float = 0.0
    variance: float = 0.0
    newest: float = 0.0

    def after(self, rate: float) -> Steadiness:
        """With one more period."""
        if self.periods == 0:
            return Steadiness(1, rate, rate, rate)
        periods = self.periods + 1
        anchor = self.anchor + (rate - self.anchor) / periods if periods <= _ANCHOR_PERIODS else self.anchor
        smoothed = self.smoothed + _WEIGHT * (rate - self.smoothed)
        # half of the squared difference of neighbours: unmoved by a slow drift; the newest may be the change itself
        newest = (rate - self.last) ** 2 / 2
        weight = 1 / min(max(1, self.periods - 1), 30)
        variance = self.variance + weight * (self.newest - self.variance)
        return Steadiness(periods, anchor, smoothed, rate, variance, newest)

    def change(self, tolerance: float) -> float:
        """The relative change since the anchor, or 0 where it is within the tolerance or the noise."""
        if self.periods < 2 or self.anchor <= 0:
            return 0.0
        moved = self.smoothed / self.anchor - 1
        # of a period's variance the smoothed rate has weight / (2 - weight), the anchor 1 / its periods
        part = _WEIGHT / (2 - _WEIGHT) + 1 / _ANCHOR_PERIODS
        noise = _SIGMAS * (self.variance * part) ** 0.5 / self.anchor
        if self.periods < _ANCHOR_PERIODS:  # anchor and variance are rough yet
            noise = 3 * tolerance
        return moved if abs(moved) > max(tolerance, min(noise, 4 * tolerance)) else 0.0


UNWATCHED = Steadiness()
