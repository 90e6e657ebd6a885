"""The volume-weighted average price of trades: per ticker (demonstration, benchmark), and over all of them (MODEL)."""

from __future__ import annotations

from penstock.app.application import Application
from penstock.app.stream import Stream
from penstock.app.windows import Window, sliding
from penstock.connectors.kinds import SinkConnector, SourceConnector

COLUMNS = ("ticker", "n", "low", "high", "mean", "notional", "volume", "vwap", "cents")


def vwap_per_ticker(
    ticker: str = "symbol",
    ttype: str = "symbol",
    *,
    tuples: int = 4,
    source: SourceConnector | None = None,
    sink: SinkConnector | None = None,
) -> Application:
    """For every trade the last few trades of its ticker: count, low, high, mean, notional, volume, vwap, and its cents.

    `ticker` and `ttype` are the types of those attributes: 'symbol', 'string', or for tickers also 'int32'; without a
    `source` the quotes are given to `evaluate`.

    >>> vwap_per_ticker().graph.operator("vwap").schema.names
    ['ticker', 'n', 'low', 'high', 'mean', 'notional', 'volume', 'vwap', 'cents']
    """
    window = sliding(count=tuples, every=1, per_group=True)
    return _application("vwap_per_ticker", ticker, ttype, window, source, sink)


def vwap(ticker: str = "symbol", ttype: str = "symbol", *, tuples: int = 4) -> Application:
    """MODEL's reading: one window over the last few trades of all tickers, and a result for each ticker in it."""
    return _application("vwap", ticker, ttype, sliding(count=tuples, every=1))


def _application(
    name: str,
    ticker: str,
    ttype: str,
    window: Window,
    source: SourceConnector | None = None,
    sink: SinkConnector | None = None,
) -> Application:
    app = Application(name)
    schema = {"seq": "int64", "ticker": ticker, "ttype": ttype, "price": "float64", "volume": "float64"}
    quotes = app.source("quotes", source, schema=schema)
    trades = quotes.functor(
        "trades",
        where="ttype = 'Trade'",
        emit={"ticker": "ticker", "price": "price", "volume": "volume", "notional": "price * volume"},
    )
    _results(_windows(trades, window)).sink("out", sink)
    return app


def _windows(trades: Stream, window: Window) -> Stream:
    return trades.aggregate(
        "window",
        by="ticker",
        window=window,
        emit={
            "ticker": "any(ticker)",
            "n": "count()",
            "low": "min(price)",
            "high": "max(price)",
            "mean": "avg(price)",
            "notional": "sum(notional)",
            "volume": "sum(volume)",
            "price": "last(price)",
        },
    )


def _results(windows: Stream) -> Stream:
    copied = {name: name for name in ("ticker", "n", "low", "high", "mean", "notional", "volume")}
    return windows.functor("vwap", emit={**copied, "vwap": "notional / volume", "cents": "price * 100"})
