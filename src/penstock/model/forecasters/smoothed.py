"""An exponentially weighted mean: right where a load only jitters."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Smoothed:
    """`alpha` weighs the newest measurement."""

    alpha: float = 0.3
    level: float = 0.0
    seen: int = 0

    def learn(self, value: float) -> Smoothed:
        level = value if self.seen == 0 else self.level + self.alpha * (value - self.level)
        return replace(self, level=level, seen=self.seen + 1)

    def forecast(self, steps: int) -> tuple[float, ...]:
        return (self.level,) * steps
