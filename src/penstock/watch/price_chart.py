"""The demonstration's picture: prices of a few tickers, how fast they were computed, and how unequal tickers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.watch.canvas import blank_figure, save

Floats = npt.NDArray[np.float64]
_COLOURS = ("#1f5fa8", "#b3541e", "#2c7a4b")
_QUIET = "#6b7280"
_CAPTION = "Line: volume-weighted average price of a ticker's last 4 trades. Band: their low and high."


@dataclass(frozen=True, slots=True)
class PriceSeries:
    """One ticker along the stream: at each of its trades the sequence number, and the window's low, high and vwap."""

    ticker: str
    sequence: Floats
    low: Floats
    high: Floats
    vwap: Floats


@dataclass(frozen=True, slots=True)
class Run:
    """How the demonstration went: tuples done and tuples/s after each piece, and trades of each ticker."""

    title: str
    tuples_done: Floats
    rate_tuples_s: Floats
    trades_by_rank: Floats


def binned(series: PriceSeries, bins: int) -> PriceSeries:
    """At most `bins` points of equal numbers of trades: lowest low, highest high, mean vwap.

    >>> one = np.array([1.0, 2.0, 3.0, 4.0])
    >>> binned(PriceSeries("A", one, one, one, one), 2).vwap.tolist()
    [1.5, 3.5]
    """
    count = len(series.sequence)
    if count == 0:
        return series
    starts = np.unique(np.linspace(0, count, min(bins, count), endpoint=False).astype(np.int64))
    sizes = np.diff(np.append(starts, count))
    return PriceSeries(
        series.ticker,
        np.add.reduceat(series.sequence, starts) / sizes,
        np.minimum.reduceat(series.low, starts),
        np.maximum.reduceat(series.high, starts),
        np.add.reduceat(series.vwap, starts) / sizes,
    )


def save_prices(series: Sequence[PriceSeries], run: Run, paths: Sequence[Path], *, bins: int = 320) -> None:
    """Draws the same picture into every one of the paths."""
    figure = blank_figure(13.5, 7.6)
    figure.text(0.055, 0.945, run.title, fontsize=15, fontweight="bold")
    figure.text(0.055, 0.905, _CAPTION, fontsize=10, color=_QUIET)
    _draw_all_series(figure, series, bins)
    right = figure.add_gridspec(2, 1, left=0.7, right=0.975, top=0.845, bottom=0.085, hspace=0.42)
    _draw_rate(figure.add_subplot(right[0]), run)
    _draw_ranks(figure.add_subplot(right[1]), run)
    for path in paths:
        save(figure, path)


def _draw_all_series(figure: Any, series: Sequence[PriceSeries], bins: int) -> None:
    """One above the other, along the same tuples."""
    left = figure.add_gridspec(max(len(series), 1), 1, left=0.055, right=0.64, top=0.845, bottom=0.085, hspace=0.3)
    first: Any = None
    for i, one in enumerate(series):
        axes = figure.add_subplot(left[i], sharex=first)
        first = first or axes
        _draw_series(axes, one, bins, _COLOURS[i % len(_COLOURS)])
        is_last = i == len(series) - 1
        axes.tick_params(labelbottom=is_last)
        axes.set_xlabel("tuple of the stream, millions" if is_last else "", fontsize=9.5)


def _draw_series(axes: Any, series: PriceSeries, bins: int, colour: str) -> None:
    points = binned(series, bins)
    x = points.sequence / 1e6
    axes.fill_between(x, points.low, points.high, color=colour, alpha=0.22, lw=0)
    axes.plot(x, points.vwap, color=colour, lw=1.3)
    axes.set_title(
        f"{series.ticker}   {len(series.sequence):,} trades", loc="left", fontsize=10.5, fontweight="bold", color=colour
    )
    axes.set_ylabel("dollars", fontsize=9.5)
    axes.margins(x=0.005)
    _quieten(axes)


def _draw_rate(axes: Any, run: Run) -> None:
    rates = run.rate_tuples_s / 1e6
    axes.stairs(rates, np.append(0.0, run.tuples_done / 1e6), color=_COLOURS[0], lw=1.4)
    axes.stairs(rates, np.append(0.0, run.tuples_done / 1e6), color=_COLOURS[0], alpha=0.12, lw=0, fill=True)
    median = float(np.median(rates)) if len(rates) else 0.0
    axes.axhline(median, color=_QUIET, lw=0.9, ls=(0, (4, 3)))
    axes.set_ylim(0, max(rates.max(initial=0.0) * 1.15, 1e-3))
    axes.margins(x=0)
    axes.set_title(f"Throughput: median {median:.1f} M tuples/s", loc="left", fontsize=10.5, fontweight="bold")
    axes.set_xlabel("tuples done, millions", fontsize=9.5)
    axes.set_ylabel("M tuples/s, one thread", fontsize=9.5)
    _quieten(axes)


def _draw_ranks(axes: Any, run: Run) -> None:
    ranks = np.arange(1, len(run.trades_by_rank) + 1)
    axes.loglog(ranks, run.trades_by_rank, color=_COLOURS[1], lw=1.8)
    axes.set_title(f"Trades per ticker: {len(ranks):,} tickers, few busy", loc="left", fontsize=10.5, fontweight="bold")
    axes.set_xlabel("rank of the ticker", fontsize=9.5)
    axes.set_ylabel("trades", fontsize=9.5)
    _quieten(axes)


def _quieten(axes: Any) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#b8bdc6")
    axes.tick_params(colors=_QUIET, labelsize=8.5)
    axes.grid(axis="y", color="#e6e8ec", lw=0.7)
    axes.set_axisbelow(True)
