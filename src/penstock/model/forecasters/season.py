"""Finds how long a season is, from the autocorrelation of what was measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_SHORTEST = 4
_PERIODS = 3  # a season must have come back at least twice
_CLEAR = 0.4


def season_length(values: Sequence[float]) -> int | None:
    """The lag after which the series, less its trend, looks most like itself again; None where none is clear.

    >>> season_length([0, 5, 9, 5, 0, 1] * 8)
    6
    """
    series = np.asarray(values, np.float64)
    longest = len(series) // _PERIODS
    if longest < _SHORTEST:
        return None
    correlation = _autocorrelation(_without_trend(series))[: longest + 1]
    peaks = [
        lag
        for lag in range(_SHORTEST, longest)
        if correlation[lag] >= _CLEAR and correlation[lag - 1] < correlation[lag] >= correlation[lag + 1]
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
