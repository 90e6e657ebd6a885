"""Prices per ticker over a trading day that goes by a hundred times as fast; results are counted, no file is written.

penstock run examples/streaming/vwap.py --duration 30
"""

import penstock as ps

app = ps.Application("streaming_vwap")
day = ps.sources.trace(rate="trading_day", rate_tuples_s=150_000, keys=2836, speed_up=100, seed=7)
trades = app.source("quotes", day).functor(
    "trades",
    where="ttype = 'Trade'",
    emit={"ticker": "ticker", "price": "price", "volume": "volume", "notional": "price * volume"},
)
window = trades.aggregate(
    "window",
    by="ticker",
    window=ps.sliding(count=4, every=1, per_group=True),
    emit={"ticker": "any(ticker)", "low": "min(price)", "high": "max(price)", "vwap": "sum(notional) / sum(volume)"},
)
window.sink("out", ps.sinks.discard())
