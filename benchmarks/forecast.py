"""Benchmark `forecast`: errors of every forecaster on generated loads and traces, by how far it looks ahead."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.report import table_of
from benchmarks.saso.loads import Load, generated_loads, trace_load
from penstock.model.forecasters.autoregressive import Autoregressive
from penstock.model.forecasters.holt import Holt
from penstock.model.forecasters.holt_winters import HoltWinters
from penstock.model.forecasters.last_value import LastValue
from penstock.model.forecasters.mixture import Mixture
from penstock.model.forecasters.protocol import Forecaster
from penstock.model.forecasters.smoothed import Smoothed

LEADS = (1, 2, 5, 10)
_WARM_STEPS = 30


def forecasters() -> dict[str, Forecaster]:
    return {
        "last value": LastValue(),
        "smoothed": Smoothed(),
        "holt": Holt(),
        "holt-winters": HoltWinters(),
        "autoregressive": Autoregressive(),
        "mixture": Mixture(),
    }


@dataclass(frozen=True, slots=True)
class ForecastRow:
    """Mean absolute error of a forecaster on one load, as a share of the mean rate, by lead; and its cost."""

    load: str
    forecaster: str
    error_by_lead: tuple[float, ...]
    step_us: float


def loads(seed: int, traces: Sequence[Path], steps: int) -> list[Load]:
    return [*generated_loads(12_000, seed), *(trace_load(path, 12_000, steps) for path in traces)]


def measure(chosen: Sequence[Load]) -> list[ForecastRow]:
    """Every forecaster over every load, one value a second."""
    rows = []
    for load in chosen:
        counts = [load.arrivals.arrived_by(float(second)) for second in range(int(load.end_s) + 1)]
        rates = np.diff(np.asarray(counts, np.float64))
        rows += [_row(load.name, name, forecaster, rates) for name, forecaster in forecasters().items()]
    return rows


def _row(load: str, name: str, forecaster: Forecaster, rates: np.ndarray) -> ForecastRow:
    errors: dict[int, list[float]] = {lead: [] for lead in LEADS}
    spent_s = 0.0
    for step in range(len(rates)):
        begin = time.perf_counter()
        forecaster = forecaster.learn(float(rates[step]))
        said = forecaster.forecast(max(LEADS))
        spent_s += time.perf_counter() - begin
        if step >= _WARM_STEPS:
            for lead in LEADS:
                if step + lead < len(rates):
                    errors[lead].append(abs(said[lead - 1] - float(rates[step + lead])))
    level = float(rates.mean()) or 1.0
    return ForecastRow(
        load, name, tuple(mean(errors[lead]) / level if errors[lead] else 0.0 for lead in LEADS),
        1e6 * spent_s / len(rates),
    )  # fmt: skip


def ranks(rows: Sequence[ForecastRow]) -> dict[str, float]:
    """Geometric mean over loads and leads of each forecaster's error over the best one's there."""
    ratios: dict[str, list[float]] = {}
    for load in {row.load for row in rows}:
        own = [row for row in rows if row.load == load]
        for place in range(len(LEADS)):
            best = max(min(row.error_by_lead[place] for row in own), 1e-12)
            for row in own:
                ratios.setdefault(row.forecaster, []).append(max(row.error_by_lead[place], 1e-12) / best)
    return {name: float(np.exp(np.mean(np.log(values)))) for name, values in ratios.items()}


def print_report(console: Console, rows: Sequence[ForecastRow]) -> None:
    ahead = [f"{lead} ahead" for lead in LEADS]
    table = table_of("mean absolute error / mean rate", "load", "<forecaster", *ahead, "us a step")
    for row in rows:
        errors = [f"{error:.4f}" for error in row.error_by_lead]
        table.add_row(row.load, row.forecaster, *errors, f"{row.step_us:.0f}")
    console.print(table)
    for name, rank in sorted(ranks(rows).items(), key=lambda item: item[1]):
        console.print(f"{name}: {rank:.3f} times the best one's error, over all loads and leads")


def summary(rows: Sequence[ForecastRow], seed: int) -> dict[str, Any]:
    """The JSON object."""
    return {
        "bench": "forecast",
        "error_to_best": {name: round(rank, 4) for name, rank in ranks(rows).items()},
        "rows": [
            {"load": r.load, "forecaster": r.forecaster, "leads": list(LEADS),
             "errors": [round(e, 5) for e in r.error_by_lead], "step_us": round(r.step_us, 1)}
            for r in rows
        ],
        "seed": seed,
    }  # fmt: skip
