"""What a forecaster is: a value that learns one measurement at a time and tells the next ones."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable


@runtime_checkable
class Forecaster(Protocol):
    """An immutable learner; a rate is never negative, so no forecast is.

    Before the first measurement it forecasts 0.
    """

    def learn(self, value: float) -> Self:
        """The forecaster after one more measurement."""
        ...

    def forecast(self, steps: int) -> tuple[float, ...]:
        """The next `steps` values, the nearest first."""
        ...
