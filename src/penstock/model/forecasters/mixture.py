"""A mixture of forecasters, weighed by how well each did of late."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from penstock.model.forecasters.autoregressive import Autoregressive
from penstock.model.forecasters.holt import Holt
from penstock.model.forecasters.holt_winters import HoltWinters
from penstock.model.forecasters.last_value import LastValue
from penstock.model.forecasters.protocol import Forecaster
from penstock.model.forecasters.smoothed import Smoothed


def default_experts() -> tuple[Forecaster, ...]:
    """Different enough that one of them is good at each kind of load."""
    return (LastValue(), Smoothed(0.3), Smoothed(0.6), Holt(), HoltWinters(), Autoregressive())


@dataclass(frozen=True, slots=True)
class Mixture:
    """The mean of its experts by weight exp(-sharpness * smoothed squared error / the least of them).

    Errors are judged at two leads, the next step and `far` steps ahead, and each forecast uses the weights of the
    nearer of the two.  Weights follow within about 1 / `pace` steps when another expert becomes the best.
    """

    experts: tuple[Forecaster, ...] = field(default_factory=default_experts)
    sharpness: float = 4.0
    pace: float = 0.05
    far: int = 8
    near_errors: tuple[float, ...] = ()
    far_errors: tuple[float, ...] = ()
    said: tuple[tuple[tuple[float, ...], ...], ...] = ()  # said[a][e]: what expert e forecast a steps ago

    def learn(self, value: float) -> Mixture:
        near, far = self.near_errors, self.far_errors
        if self.said:
            near = self._judged(near, value, 1)
        if len(self.said) >= self.far:
            far = self._judged(far, value, self.far)
        experts = tuple(expert.learn(value) for expert in self.experts)
        said = (tuple(expert.forecast(self.far) for expert in experts), *self.said)[: self.far]
        return replace(self, experts=experts, near_errors=near, far_errors=far, said=said)

    def forecast(self, steps: int) -> tuple[float, ...]:
        by_expert = [expert.forecast(steps) for expert in self.experts]
        near, far = self._weights(self.near_errors), self._weights(self.far_errors)
        middle = (1 + self.far) / 2
        return tuple(
            sum(w * values[step] for w, values in zip(near if step + 1 < middle else far, by_expert, strict=True))
            for step in range(steps)
        )

    def _judged(self, errors: tuple[float, ...], value: float, lead: int) -> tuple[float, ...]:
        squares = [(value - forecast[lead - 1]) ** 2 for forecast in self.said[lead - 1]]
        if not errors:
            return tuple(squares)
        return tuple(old + self.pace * (new - old) for old, new in zip(errors, squares, strict=True))

    def _weights(self, errors: tuple[float, ...]) -> list[float]:
        if not errors:
            return [1.0 / len(self.experts)] * len(self.experts)
        least = max(min(errors), 1e-12)
        raw = [math.exp(-self.sharpness * (error / least - 1.0)) for error in errors]
        total = sum(raw)
        return [weight / total for weight in raw]
