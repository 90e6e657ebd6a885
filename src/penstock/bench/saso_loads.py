"""Loads for comparing policies: generated ones and traces, each scaled to the replicas there are."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from penstock.errors import InputError
from penstock.generate.arrivals import Arrivals, counted_arrivals, generated_arrivals
from penstock.generate.rates import SHAPES


@dataclass(frozen=True, slots=True)
class Load:
    """Arrivals of one run; `speed_up`: how many times as fast as in the world they are replayed."""

    name: str
    arrivals: Arrivals
    end_s: float
    speed_up: float


# name, period of the world passed in so many seconds, mean rate as a share of the capacity of all replicas
_GENERATED = {"random_walk": (180.0, 0.4), "trading_day": (235.0, 0.3)}


def generated_loads(capacity_tuples_s: float, seed: int, names: Sequence[str] = tuple(_GENERATED)) -> list[Load]:
    """The paper's two: a random walk of 180 s, a trading day in 235 s."""
    loads = []
    for name in names:
        seconds, part = _GENERATED[name]
        speed_up = SHAPES[name].period_s / seconds
        arrivals = generated_arrivals(name, part * capacity_tuples_s, seed, speed_up)
        loads.append(Load(name, arrivals, seconds, speed_up))
    return loads


def trace_load(path: Path, capacity_tuples_s: float, most_steps: int) -> Load:
    """A CSV of counts (`timestamp,value`, or with `|`), an interval a second, its 99th percentile at 0.85 of capacity.

    Of a longer trace the middle is taken.
    """
    times_s, values = _read(path)
    interval_s = float(np.median(np.diff(times_s)))
    begin = max((len(values) - most_steps) // 2, 0)
    part = np.asarray(values[begin : begin + most_steps])
    high = float(np.percentile(part, 99)) or 1.0
    together = max(round(1.0 / interval_s), 1)  # intervals shorter than a second are joined
    counts = np.maximum(np.round(part * (0.85 * capacity_tuples_s / high)), 0.0)
    edges_s = np.arange(len(counts) + 1, dtype=np.float64) / together
    return Load(
        path.stem, counted_arrivals(edges_s, counts.astype(np.int64)), float(edges_s[-1]), interval_s * together
    )


def _read(path: Path) -> tuple[list[float], list[float]]:
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise InputError(f"trace '{path}' cannot be read: {error.strerror}") from error
    if len(lines) < 4:
        raise InputError(f"trace '{path}' needs at least three intervals; got {max(len(lines) - 1, 0)}")
    rows = list(csv.reader(lines[1:], delimiter="|" if "|" in lines[0] else ","))
    try:
        return [_seconds(row[0]) for row in rows], [float(row[1]) for row in rows]
    except (ValueError, IndexError) as error:
        raise InputError(f"trace '{path}' has rows 'timestamp,value' after a header; {error}") from error


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return datetime.fromisoformat(text).timestamp()
