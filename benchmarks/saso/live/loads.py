"""Loads for comparing policies on Spark: the twin's, shorter, as trace files that are replayed by path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.saso.loads import Load, generated_loads, trace_load
from penstock.connectors.trace.arrivals import generated_arrivals

_PIECE_S = 0.25
OWN_TRACE = "diurnal"


def spark_loads(
    capacity_tuples_s: float, seed: int, seconds: float, traces: Sequence[Path], directory: Path
) -> list[Load]:
    """A random walk, a trading day and a trace; without a file of the user's, one of our own, a day and its night."""
    paths = list(traces) or [_own_trace(directory, seed)]
    replayed = [trace_load(path, capacity_tuples_s, math.ceil(seconds)) for path in paths]
    cut = [replace(load, end_s=min(load.end_s, seconds)) for load in replayed]
    return [*generated_loads(capacity_tuples_s, seed, seconds=seconds), *cut]


def write_trace(load: Load, path: Path, lead_s: float) -> Path:
    """A load as a trace file: seconds, and the rate from there on; before it, its first second's rate for `lead_s`."""
    edges_s = np.arange(0.0, load.end_s + _PIECE_S / 2, _PIECE_S)
    arrived = np.array([load.arrivals.arrived_by(float(edge)) for edge in edges_s])
    rows = [(0.0, float(load.arrivals.arrived_by(1.0)))] if lead_s > 0 else []
    rows += list(zip(edges_s[:-1] + lead_s, np.diff(arrived) / _PIECE_S, strict=True))
    path.write_text("seconds,rate\n" + "".join(f"{second:g},{rate:g}\n" for second, rate in rows))
    return path


def _own_trace(directory: Path, seed: int) -> Path:
    """Hourly counts of two days, in the form that recorded traces have."""
    path, day_s, interval_s = directory / f"{OWN_TRACE}.csv", 86_400, 3600
    arrivals = generated_arrivals(OWN_TRACE, 10.0, seed, 1.0)
    times_s = range(0, 2 * day_s, interval_s)
    counts = [arrivals.arrived_by(time_s + interval_s) - arrivals.arrived_by(time_s) for time_s in times_s]
    path.write_text("timestamp,value\n" + "".join(f"{t},{c}\n" for t, c in zip(times_s, counts, strict=True)))
    return path
