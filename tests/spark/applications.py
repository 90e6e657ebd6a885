"""Applications that the Spark tests run."""

from __future__ import annotations

from typing import Literal

from penstock import sources
from penstock.app.application import Application
from penstock.app.windows import sliding
from penstock.connectors.kinds import SinkConnector


def prices(
    sink: SinkConnector,
    total: int,
    *,
    ticker: Literal["symbol", "string", "int32"] = "symbol",
    rate: str = "unbounded",
    keys: int = 200,
) -> Application:
    """Volume-weighted prices per ticker, few tickers, a window whose sums depend on their order."""
    app = Application("prices")
    trace = sources.trace(rate=rate, rate_tuples_s=20_000, keys=keys, seed=7, total=total, ticker=ticker)
    trades = app.source("quotes", trace).functor(
        "trades",
        where="ttype = 'Trade'",
        emit={"seq": "seq", "ticker": "ticker", "price": "price", "notional": "price * volume", "volume": "volume"},
    )
    window = trades.aggregate(
        "window",
        by="ticker",
        window=sliding(count=20, every=1, per_group=True),
        emit={"seq": "last(seq)", "ticker": "any(ticker)", "vwap": "sum(notional) / sum(volume)", "low": "min(price)"},
    )
    window.functor("result", emit={"seq": "seq", "ticker": "ticker", "cents": "vwap * 100", "low": "low"}).sink(
        "out", sink
    )
    return app
