"""A forecaster with the record of its errors, by how many steps ahead it looked."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from penstock.model.forecasters.protocol import Forecaster


@dataclass(frozen=True, slots=True)
class Tracked:
    """Forecasts, and how far they were off as a share of the forecast: smoothed squares for each lead up to `leads`.

    Shares, since a load that is twice as high jitters twice as much, and a wild hour must not count in a calm one.  One
    error counts at most as `highest_ratio`; before any, a forecaster is taken to be off by `assumed_ratio`.
    """

    forecaster: Forecaster
    leads: int = 10
    pace: float = 0.05
    assumed_ratio: float = 0.1
    highest_ratio: float = 1.0
    squares: tuple[float, ...] = ()
    said: tuple[tuple[float, ...], ...] = ()  # said[a]: the forecast of a steps ago

    def learn(self, value: float) -> Tracked:
        errors = [_share(value - forecast[lead], forecast[lead]) for lead, forecast in enumerate(self.said)]
        squares = _blended(self.squares, [min(e, self.highest_ratio) ** 2 for e in errors], self.pace)
        forecaster = self.forecaster.learn(value)
        said = (forecaster.forecast(self.leads), *self.said)[: self.leads]
        return replace(self, forecaster=forecaster, squares=squares, said=said)

    def forecast(self, steps: int) -> tuple[float, ...]:
        return self.forecaster.forecast(steps)

    def deviations(self, steps: int) -> tuple[float, ...]:
        """Standard error of a forecast for each of the next steps; beyond `leads` that of the last."""
        ratios = [math.sqrt(square) for square in self.squares] or [self.assumed_ratio]
        return tuple(ratios[min(step, len(ratios) - 1)] * value for step, value in enumerate(self.forecast(steps)))


def _share(error: float, forecast: float) -> float:
    return abs(error) / forecast if forecast > 0 else float(error != 0)


def _blended(old: tuple[float, ...], new: list[float], pace: float) -> tuple[float, ...]:
    """Old figures moved towards new ones; the first ones for a lead as they are."""
    return tuple(old[i] + pace * (x - old[i]) if i < len(old) else x for i, x in enumerate(new))
