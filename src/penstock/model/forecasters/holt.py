"""Holt's smoothing: a level and a damped trend."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Holt:
    """`alpha` weighs a measurement in the level, `beta` in the trend; the trend fades by `damping` a step."""

    alpha: float = 0.8
    beta: float = 0.2
    damping: float = 0.9
    level: float = 0.0
    trend: float = 0.0
    seen: int = 0

    def learn(self, value: float) -> Holt:
        if self.seen == 0:
            return replace(self, level=value, seen=1)
        faded = self.damping * self.trend
        level = self.alpha * value + (1 - self.alpha) * (self.level + faded)
        trend = self.beta * (level - self.level) + (1 - self.beta) * faded
        return replace(self, level=level, trend=trend, seen=self.seen + 1)

    def forecast(self, steps: int) -> tuple[float, ...]:
        values, reach, weight = [], 0.0, 1.0
        for _ in range(steps):
            weight *= self.damping
            reach += weight
            values.append(max(self.level + reach * self.trend, 0.0))
        return tuple(values)
