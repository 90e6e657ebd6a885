"""Loads of our own that policies may be set on: counts with bursts, few or many, seasons, a walk, and levels.

They are written as traces are, so that everything else treats them as it treats a file from the world.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Random = np.random.Generator
INTERVALS = 320
_DAY, _SHORT_DAY = 288, 48  # intervals
_HIGH = 9_000.0  # events of an interval: so many that counting them adds no noise


def made_loads(folder: Path, seed: int) -> list[Path]:
    """Writes one of each kind, `timestamp,value`; the same seed writes the same files."""
    return [_written(folder / f"{name}{seed}.csv", make(np.random.default_rng([seed, place])))
            for place, (name, make) in enumerate(_KINDS.items())]  # fmt: skip


def _written(path: Path, counts: Floats) -> Path:
    begin = datetime(2026, 1, 1)
    rows = (f"{begin + timedelta(minutes=5 * n)},{int(max(count, 0))}" for n, count in enumerate(counts))
    path.write_text("\n".join(["timestamp,value", *rows]) + "\n")
    return path


def _wave(intervals: int, random: Random) -> Floats:
    return np.asarray(np.sin(2 * np.pi * (np.arange(INTERVALS) / intervals + random.random())))


def _counted(random: Random, evenness: float, spikes: Floats) -> Floats:
    """A day of some 60 events an interval, the more over-dispersed the less even, and spikes on top of it."""
    rates = random.gamma(evenness, (60 + 25 * _wave(_DAY, random)) / evenness)
    return random.poisson(rates + np.minimum(spikes, 600.0)).astype(np.float64)


def _bursty(random: Random) -> Floats:
    """One interval in fifty begins a burst that dies away within up to eleven more."""
    spikes = np.zeros(INTERVALS)
    for begin in np.flatnonzero(random.random(INTERVALS) < 0.02):
        length = int(random.integers(1, 12))
        fading = np.exp(-np.arange(length) / max(length / 2, 1.0))
        spikes[begin : begin + length] += (60 * (random.pareto(2.0) + 0.5) * fading)[: INTERVALS - begin]
    return _counted(random, 8.0, spikes)


def _rarely_bursty(random: Random) -> Floats:
    """One in 125 begins a block of up to three."""
    spikes = np.zeros(INTERVALS)
    for begin in np.flatnonzero(random.random(INTERVALS) < 0.008):
        spikes[begin : begin + int(random.integers(1, 4))] += 50 * (random.pareto(2.5) + 0.6)
    return _counted(random, 40.0, spikes)


def _seasonal(random: Random) -> Floats:
    noise = 0.05 * random.standard_normal(INTERVALS)
    return _HIGH * np.maximum(1 + 0.75 * _wave(_SHORT_DAY, random) + 0.25 * _wave(_SHORT_DAY // 2, random) + noise, 0.1)


def _walk(random: Random) -> Floats:
    return np.asarray(_HIGH * np.exp(np.cumsum(0.03 * random.standard_normal(INTERVALS))))


def _levels(random: Random) -> Floats:
    """From one level to the next at once, after five to forty intervals."""
    lasts = random.integers(5, 41, INTERVALS)
    levels = np.repeat(random.uniform(0.2, 1.0, INTERVALS), lasts)[:INTERVALS]
    return np.asarray(_HIGH * levels * (1 + 0.04 * random.standard_normal(INTERVALS)))


_KINDS: dict[str, Callable[[Random], Floats]] = {
    "bursty": _bursty,
    "rarely_bursty": _rarely_bursty,
    "seasonal": _seasonal,
    "walk": _walk,
    "levels": _levels,
}
