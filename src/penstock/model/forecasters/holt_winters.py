"""Holt-Winters: level, damped trend and an additive season whose length is found from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.model.forecasters.holt import Holt

_LOOK_EVERY = 16
_SHORTEST_SEASON = 4
_SEASONS_SEEN = 3  # a season must have come back at least twice
_CLEAR_CORRELATION = 0.4


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


def season_length(values: Sequence[float]) -> int | None:
    """The lag after which the series, less its trend, looks most like itself again; None where none is clear.

    >>> season_length([0, 5, 9, 5, 0, 1] * 8)
    6
    """
    series = np.asarray(values, np.float64)
    longest = len(series) // _SEASONS_SEEN
    if longest < _SHORTEST_SEASON:
        return None
    correlation = _autocorrelation(_without_trend(series))[: longest + 1]
    peaks = [
        lag
        for lag in range(_SHORTEST_SEASON, longest)
        if correlation[lag] >= _CLEAR_CORRELATION and correlation[lag - 1] < correlation[lag] >= correlation[lag + 1]
    ]
    if not peaks:
        return None
    highest = max(float(correlation[lag]) for lag in peaks)
    # Multiples of a season correlate as well as it does: the shortest of the good ones is it.
    return next(lag for lag in peaks if correlation[lag] >= 0.9 * highest)


def _without_trend(series: np.ndarray) -> np.ndarray:
    time = np.arange(len(series), dtype=np.float64)
    time -= time.mean()
    slope = (time @ series) / (time @ time)
    return np.asarray(series - series.mean() - slope * time)


def _autocorrelation(series: np.ndarray) -> np.ndarray:
    """By lag, each lag's sum divided by its number of pairs; all 0 for a constant series."""
    n = len(series)
    spectrum = np.fft.rfft(series, 2 * n)
    sums = np.fft.irfft(spectrum * spectrum.conj())[:n] / np.arange(n, 0, -1)
    # A straight line leaves rounding only, which must not look like a season.
    return np.asarray(sums / sums[0]) if sums[0] > 1e-18 * max(1.0, float(np.abs(series).max())) else np.zeros(n)
