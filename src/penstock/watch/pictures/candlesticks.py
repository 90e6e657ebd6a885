"""Candlestick charts of the trading application's estimates, with the forecasts beside the prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import InputError, did_you_mean
from penstock.watch.pictures.canvas import blank_figure, save

Floats = npt.NDArray[np.float64]
NEEDED = ("symbol", "time_us", "open", "high", "low", "close", "forecast")
_UP, _DOWN, _FORECAST, _MUTED = "#2c7a4b", "#b3402e", "#1f5fa8", "#6b7280"
_ACROSS = 2
_DAY_US = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Candles:
    """Candles of one symbol, oldest first; times in seconds of the day."""

    symbol: str
    begin_s: Floats
    end_s: Floats
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    forecast: Floats


def busiest(estimates: pa.Table, count: int) -> list[str]:
    """The symbols with the most estimates, those with as many by name."""
    counted = estimates.column("symbol").cast(pa.string()).value_counts().to_pylist()
    ordered = sorted(counted, key=lambda pair: (-pair["counts"], pair["values"]))
    return [pair["values"] for pair in ordered[:count]]


def candles_of(estimates: pa.Table, symbol: str, most: int) -> Candles:
    """One symbol's estimates in order of time, joined so that there are at most so many candles."""
    missing = [name for name in NEEDED if name not in estimates.column_names]
    if missing:
        raise InputError(f"candlesticks need the attributes {', '.join(NEEDED)}; there is no {', '.join(missing)}")
    own = estimates.filter(pc.equal(estimates.column("symbol").cast(pa.string()), symbol)).sort_by("time_us")
    if not own.num_rows:
        known = busiest(estimates, estimates.num_rows)
        hint = did_you_mean(symbol, known)
        text = f"there are no estimates of '{symbol}'; there are {len(known)} symbols"
        raise InputError(text + (f"; {hint}" if hint else ""))
    columns = {name: own.column(name).to_numpy().astype(np.float64) for name in NEEDED[1:]}
    each = -(-own.num_rows // most)
    starts = np.arange(0, own.num_rows, each)
    lasts = np.append(starts[1:], own.num_rows) - 1
    times_s = columns["time_us"] % _DAY_US / 1e6
    return Candles(
        symbol,
        times_s[np.maximum(starts - 1, 0)],
        times_s[lasts],
        columns["open"][starts],
        np.maximum.reduceat(columns["high"], starts),
        np.minimum.reduceat(columns["low"], starts),
        columns["close"][lasts],
        columns["forecast"][lasts],
    )


def draw_candlesticks(charts: Sequence[Candles], title: str, path: Path) -> None:
    """One chart per symbol; the file's ending says its format."""
    across = min(_ACROSS, len(charts))
    down = -(-len(charts) // across)
    figure = blank_figure(6.6 * across, 0.7 + 3.0 * down)
    figure.text(0.01, 1 - 0.3 / (0.7 + 3.0 * down), title, fontsize=12, fontweight="bold", va="center")
    grid = figure.add_gridspec(
        down, across, left=0.07, right=0.985, top=1 - 0.75 / (0.7 + 3.0 * down), bottom=0.42 / (0.7 + 3.0 * down),
        hspace=0.42, wspace=0.16,
    )  # fmt: skip
    for number, candles in enumerate(charts):
        _draw(figure.add_subplot(grid[number // across, number % across]), candles)
    save(figure, path)


def _draw(axes: Any, candles: Candles) -> None:
    places = np.arange(len(candles.open))
    risen = candles.close >= candles.open
    for chosen, colour in ((risen, _UP), (~risen, _DOWN)):
        axes.vlines(places[chosen], candles.low[chosen], candles.high[chosen], color=colour, linewidth=0.9)
        bottom = np.minimum(candles.open, candles.close)[chosen]
        # A cent's tenth at least, so that a candle whose price did not move is seen.
        height = np.maximum(np.abs(candles.close - candles.open)[chosen], 0.001)
        axes.bar(places[chosen], height, bottom=bottom, width=0.66, color=colour)
    axes.plot(places, candles.forecast, color=_FORECAST, linewidth=1.0)
    axes.set_title("forecast", fontsize=8, loc="right", color=_FORECAST)
    axes.use_sticky_edges = False
    ticks = np.unique(np.linspace(0, len(places) - 1, 5).astype(int))
    axes.set_xticks(ticks, [_clock(candles.end_s[tick]) for tick in ticks], fontsize=7)
    axes.tick_params(labelsize=7, colors=_MUTED)
    axes.set_title(candles.symbol, fontsize=9, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{seconds % 60:06.3f}"
