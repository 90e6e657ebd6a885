"""Loads for comparing policies: generated ones and traces, each scaled to the replicas there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.connectors.trace.arrivals import Arrivals, counted_arrivals, generated_arrivals
from penstock.connectors.trace.rate_files import read_traces
from penstock.connectors.trace.rates import SHAPES
from penstock.errors import InputError


@dataclass(frozen=True, slots=True)
class Load:
    """Arrivals of one run; `speed_up`: how many times as fast as in the world they are replayed."""

    name: str
    arrivals: Arrivals
    end_s: float
    speed_up: float


# name, period of the world passed in so many seconds, mean rate as a share of the capacity of all replicas
_GENERATED = {"random_walk": (180.0, 0.4), "trading_day": (235.0, 0.3)}
_LEAST_INTERVALS = 3


def generated_loads(
    capacity_tuples_s: float, seed: int, names: Sequence[str] = tuple(_GENERATED), seconds: float | None = None
) -> list[Load]:
    """The paper's two: a random walk of 180 s, a trading day in 235 s; both of `seconds` where that is given."""
    loads = []
    for name in names:
        usual_s, part = _GENERATED[name]
        end_s = seconds or usual_s
        speed_up = SHAPES[name].period_s / end_s
        arrivals = generated_arrivals(name, part * capacity_tuples_s, seed, speed_up)
        loads.append(Load(name, arrivals, end_s, speed_up))
    return loads


def trace_load(path: Path, capacity_tuples_s: float, most_steps: int) -> Load:
    """A CSV of counts (`timestamp,value`), an interval a second, its 99th percentile at 0.85 of capacity.

    A row counts what came until the next one: where rows are missing, the one before them is spread over all of that
    time, as it is when a trace is replayed.  Of a longer trace the middle is taken.
    """
    (file,) = read_traces([str(path)])
    interval_s = float(np.median(np.diff(file.edges_s)))
    intervals = round(float(file.edges_s[-1] - file.edges_s[0]) / interval_s)
    if intervals < _LEAST_INTERVALS:
        raise InputError(f"trace {path} needs {_LEAST_INTERVALS} intervals at least; it has {intervals}")
    begin = max((intervals - most_steps) // 2, 0)
    moments_s = file.edges_s[0] + interval_s * np.arange(begin, min(begin + most_steps, intervals) + 1)
    arrived = np.interp(moments_s, file.edges_s, np.concatenate([[0.0], np.cumsum(file.counts)]))
    part = np.diff(arrived)
    high = float(np.percentile(part, 99)) or 1.0
    together = max(round(1.0 / interval_s), 1)  # intervals shorter than a second are joined
    counts = np.round(part * (0.85 * capacity_tuples_s / high))
    edges_s = np.arange(len(counts) + 1, dtype=np.float64) / together
    return Load(
        path.stem, counted_arrivals(edges_s, counts.astype(np.int64)), float(edges_s[-1]), interval_s * together
    )
