"""The next value is the last one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LastValue:
    """Hard to beat over one step of a random walk."""

    last: float = 0.0

    def learn(self, value: float) -> LastValue:
        return LastValue(value)

    def forecast(self, steps: int) -> tuple[float, ...]:
        return (self.last,) * steps
