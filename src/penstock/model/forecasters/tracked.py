"""A forecaster with the record of its errors, by how many steps ahead it looked."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from penstock.model.forecasters.protocol import Forecaster


@dataclass(frozen=True, slots=True)
class Tracked:
    """Forecasts, and how far they were off: smoothed squared and signed errors for each lead up to `leads`.

    A forecaster that was never judged at a lead is taken to be off by `assumed_ratio` of its forecast.
    """

    forecaster: Forecaster
    leads: int = 10
    pace: float = 0.05
    assumed_ratio: float = 0.1
    squares: tuple[float, ...] = ()
    biases: tuple[float, ...] = ()
    said: tuple[tuple[float, ...], ...] = ()  # said[a]: the forecast of a steps ago

    def learn(self, value: float) -> Tracked:
        errors = [value - forecast[lead] for lead, forecast in enumerate(self.said)]
        squares = _blended(self.squares, [error**2 for error in errors], self.pace)
        biases = _blended(self.biases, errors, self.pace)
        forecaster = self.forecaster.learn(value)
        said = (forecaster.forecast(self.leads), *self.said)[: self.leads]
        return replace(self, forecaster=forecaster, squares=squares, biases=biases, said=said)

    def forecast(self, steps: int) -> tuple[float, ...]:
        return self.forecaster.forecast(steps)

    def deviations(self, steps: int) -> tuple[float, ...]:
        """Standard error of a forecast for each of the next steps; beyond `leads` that of the last."""
        means = self.forecast(steps)
        known = [math.sqrt(square) for square in self.squares]
        return tuple(
            known[min(step, len(known) - 1)] if known else self.assumed_ratio * means[step] for step in range(steps)
        )


def _blended(old: tuple[float, ...], new: list[float], pace: float) -> tuple[float, ...]:
    """Old figures moved towards new ones; the first ones for a lead as they are."""
    return tuple(old[i] + pace * (x - old[i]) if i < len(old) else x for i, x in enumerate(new))
