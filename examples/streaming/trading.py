"""PROACTIVE's trading application: a polynomial of the price over the last 1,000 quotes of a symbol, at every 25th.

penstock run examples/streaming/trading.py --duration 60
penstock candlesticks out/estimates --picture out/candlesticks.svg
"""

import penstock as ps
from penstock.cli.demo.quotes import Quotes
from penstock.cli.demo.regression import SCHEMA, Regression

app = ps.Application("streaming_trading")
day = ps.sources.trace(rate="trading_day", rate_tuples_s=60_000, speed_up=100, function=Quotes(symbols=2836))
windows = app.source("quotes", day).aggregate(
    "windows",
    by="symbol",
    window=ps.sliding(count=1000, every=25, per_group=True),
    emit={
        "symbol": "any(symbol)",
        "time_us": "last(time_us)",
        "times_us": "collect(time_us)",
        "prices": "collect(price)",
    },
)
estimates = windows.map("estimates", Regression(degree=3, resolution_us=1000, horizon_us=1000, every=25), SCHEMA)
estimates.sink("out", ps.sinks.parquet("out/estimates"))
