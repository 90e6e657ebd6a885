"""PROACTIVE's trading application: per symbol, a polynomial of the price over its last 1,000 quotes, at every 25th.

`trading` computes only; with a `service`, each window also asks a service in another process for a limit price, so that
what it waits for, not the machine's cores, says how many replicas are of use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock import sources
from penstock.app.application import Application
from penstock.app.stream import Stream
from penstock.app.windows import sliding
from penstock.cli.demo.limit_prices import ComputedPrices, LimitPrices
from penstock.cli.demo.quotes import RATE_QUOTES_S, SYMBOLS, Quotes
from penstock.cli.demo.regression import SCHEMA, Regression
from penstock.connectors.kinds import SinkConnector, SourceConnector
from penstock.connectors.source_kinds import ReplayableSource, replayable

QUOTES = {"symbol": "symbol", "time_us": "int64", "price": "float64", "volume": "float64"}
WINDOW_QUOTES = 1000
EVERY_QUOTES = 25


def trading(
    source: SourceConnector | None = None,
    *,
    window: int = WINDOW_QUOTES,
    every: int = EVERY_QUOTES,
    degree: int = 3,
    resolution_us: int = 1000,
    horizon_us: int = 1000,
    service: int | ComputedPrices | None = None,
    sink: SinkConnector | None = None,
) -> Application:
    """Estimates of the price per symbol; without a `source` the quotes are given to `evaluate`.

    A source has symbol, time_us, price and volume, or is a trace with the market attributes that it makes itself.
    `service` is the port of a price service on this machine, or computes what it would answer.

    >>> trading().graph.operator("estimates").schema.names[:2]
    ['symbol', 'time_us']
    """
    app = Application("trading" if service is None else "trading_with_service")
    quotes = _quotes(app, source)
    regression = Regression(degree, resolution_us, horizon_us, every)
    windows = quotes.aggregate(
        "windows",
        by="symbol",
        window=sliding(count=window, every=every, per_group=True),
        emit={
            "symbol": "any(symbol)",
            "time_us": "last(time_us)",
            "times_us": "collect(time_us)",
            "prices": "collect(price)",
        },
    )
    estimates = windows.map("estimates", regression, SCHEMA)
    if service is not None:
        prices = LimitPrices(service) if isinstance(service, int) else service
        estimates = estimates.map("limits", prices, {**SCHEMA, "limit_price": "float64"})
    estimates.sink("out", sink)
    return app


def market(
    rate: str | Path | Sequence[str | Path] = "trading_day",
    rate_tuples_s: float | None = RATE_QUOTES_S,
    *,
    speed_up: float = 100.0,
    symbols: int = SYMBOLS,
    period_s: float | None = None,
    seed: int = 7,
    total: int | None = None,
) -> ReplayableSource:
    """Quotes that arrive at a named rate, or at that of CSV files; of several files each is one symbol."""
    if not isinstance(rate, str | Path) and len(rate) > 1:
        return sources.trace(rate, rate_tuples_s, speed_up=speed_up, seed=seed, total=total)
    function = Quotes(symbols, rate_tuples_s or RATE_QUOTES_S, seed=seed)
    return sources.trace(
        rate, rate_tuples_s, speed_up=speed_up, period_s=period_s, seed=seed, total=total, function=function
    )


def _quotes(app: Application, source: SourceConnector | None) -> Stream:
    trace = replayable(source)
    if trace is not None and trace.function is None:
        dated = f"cast(seq * {1e6 / (trace.rate_tuples_s or RATE_QUOTES_S)!r} as int64)"
        emit = {"symbol": "ticker", "time_us": dated, "price": "price", "volume": "volume"}
        return app.source("quotes", source).functor("dated", emit=emit)
    return app.source("quotes", source, schema=QUOTES)
