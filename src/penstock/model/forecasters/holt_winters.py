"""Holt-Winters: level, damped trend and an additive season whose length is found from the data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from penstock.model.forecasters.holt import Holt
from penstock.model.forecasters.season import season_length

_LOOK_EVERY = 16


@dataclass(frozen=True, slots=True)
class HoltWinters:
    """Holt's smoothing until a season is found; `season` fixes its length instead.

    `gamma` weighs a measurement in the season; at most `memory` measurements are kept to look for one.
    """

    alpha: float = 0.6
    beta: float = 0.1
    gamma: float = 0.3
    damping: float = 0.9
    season: int | None = None
    memory: int = 2048
    seen: int = 0
    base: Holt = field(default_factory=Holt)
    offsets: tuple[float, ...] = ()
    history: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.seen == 0:
            object.__setattr__(self, "base", Holt(self.alpha, self.beta, self.damping))

    def learn(self, value: float) -> HoltWinters:
        history = (*self.history, value)[-self.memory :]
        looked = replace(self, history=history)._with_season() if self._looks() else replace(self, history=history)
        return looked._smoothed(value)

    def forecast(self, steps: int) -> tuple[float, ...]:
        ahead = _unbounded(self.base, steps)
        length = len(self.offsets)
        if not length:
            return tuple(max(value, 0.0) for value in ahead)
        return tuple(max(value + self.offsets[(self.seen + step) % length], 0.0) for step, value in enumerate(ahead))

    def _looks(self) -> bool:
        if self.season is not None:
            return not self.offsets and self.seen + 1 >= 2 * self.season
        return (self.seen + 1) % _LOOK_EVERY == 0

    def _with_season(self) -> HoltWinters:
        """Offsets from the last two seasons, their trend taken out, where one shows that is not the one in use."""
        length = self.season if self.season is not None else season_length(self.history)
        if length is None or length == len(self.offsets):
            return self
        series = np.asarray(self.history[:-1][-2 * length :])  # the newest is smoothed in after this
        time = np.arange(len(series))
        whole = len(series) == 2 * length
        slope = float(series[length:].mean() - series[:length].mean()) / length if whole else 0.0
        line = series.mean() + slope * (time - time.mean())
        places = (self.seen - len(series) + time) % length
        sums = np.bincount(places, series - line, minlength=length)
        offsets = sums / np.maximum(np.bincount(places, minlength=length), 1)
        base = replace(self.base, level=float(line[-1]), trend=slope)
        return replace(self, offsets=tuple(float(x) for x in offsets), base=base)

    def _smoothed(self, value: float) -> HoltWinters:
        if not self.offsets:
            return replace(self, base=self.base.learn(value), seen=self.seen + 1)
        place = self.seen % len(self.offsets)
        base = self.base.learn(value - self.offsets[place])
        offset = self.gamma * (value - base.level) + (1 - self.gamma) * self.offsets[place]
        offsets = (*self.offsets[:place], offset, *self.offsets[place + 1 :])
        return replace(self, base=base, offsets=offsets, seen=self.seen + 1)


def _unbounded(base: Holt, steps: int) -> list[float]:
    """Holt's forecast, below 0 too: the season is still to be added."""
    values, reach, weight = [], 0.0, 1.0
    for _ in range(steps):
        weight *= base.damping
        reach += weight
        values.append(base.level + reach * base.trend)
    return values
