"""A forecaster with the record of its errors, by how many steps ahead it looked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from penstock.model.forecasters.latest import Latest
from penstock.model.forecasters.protocol import Forecaster
from penstock.model.forecasters.tails import Tails

_LEAST_SHARE = 0.025  # better forecasts are a chance


@dataclass(frozen=True, slots=True)
class Tracked:
    """Forecasts, and how far they were off as a share of the forecast: smoothed squares for each lead up to `leads`.

    Shares, since a load that is twice as high jitters twice as much, and a wild hour must not count in a calm one.  One
    error counts at most as `highest_ratio`.  Before any, a forecaster is taken to be off by `assumed_ratio`, which
    counts as much as `assumed` errors.
    """

    forecaster: Forecaster
    leads: int = 10
    pace: float = 0.05
    assumed_ratio: float = 0.3
    assumed: int = 1
    highest_ratio: float = 1.0
    squares: tuple[float, ...] = ()
    said: tuple[tuple[float, ...], ...] = ()  # said[a]: the forecast of a steps ago
    learned: int = 0  # steps
    latest: Latest | None = None
    tails: Tails = field(default_factory=Tails)  # of the next step's forecast

    def learn(self, value: float, latest: float | None = None) -> Tracked:
        """`latest`: the rate in the last moments of the step, where it is known."""
        errors = [_share(value - forecast[lead], forecast[lead]) for lead, forecast in enumerate(self.said)]
        squares = self._blended([min(e, self.highest_ratio) ** 2 for e in errors])
        tails = self.tails.learn(self._standard(value)) if self.squares else self.tails
        forecaster = self.forecaster.learn(value)
        plain = forecaster.forecast(self.leads)
        looked = self.latest.learn(value, plain, latest) if self.latest is not None else None
        said = (looked.corrected(plain) if looked is not None else plain, *self.said)[: self.leads]
        return replace(
            self, forecaster=forecaster, squares=squares, said=said, learned=self.learned + 1, latest=looked,
            tails=tails,
        )  # fmt: skip

    def _blended(self, new: list[float]) -> tuple[float, ...]:
        """Old squares moved towards new ones: means of all errors and of what is assumed, until errors are many."""
        found = []
        for lead, square in enumerate(new):
            old = self.squares[lead] if lead < len(self.squares) else self.assumed_ratio**2
            errors = self.learned - lead  # with this one
            found.append(old + max(self.pace, 1 / (self.assumed + errors)) * (square - old))
        return tuple(found)

    def forecast(self, steps: int) -> tuple[float, ...]:
        if self.said and steps <= self.leads:  # what was worked out for the record
            return self.said[0][:steps]
        plain = self.forecaster.forecast(steps)
        return plain if self.latest is None else self.latest.corrected(plain)

    def share(self) -> float:
        """Standard error of the next step's forecast, as a share of it."""
        return math.sqrt(self.squares[0]) if self.squares else self.assumed_ratio

    def _standard(self, value: float) -> float:
        """The error of the last forecast in standard errors as they were known."""
        forecast = self.said[0][0]
        if forecast <= 0:
            return self.tails.highest if value > 0 else 0.0
        return (value / forecast - 1) / max(self.share(), _LEAST_SHARE)

    def deviations(self, steps: int) -> tuple[float, ...]:
        """Standard error of a forecast for each of the next steps; beyond `leads` that of the last."""
        ratios = [math.sqrt(square) for square in self.squares] or [self.assumed_ratio]
        return tuple(ratios[min(step, len(ratios) - 1)] * value for step, value in enumerate(self.forecast(steps)))


def _share(error: float, forecast: float) -> float:
    return abs(error) / forecast if forecast > 0 else float(error != 0)
