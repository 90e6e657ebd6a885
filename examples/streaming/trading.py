"""PROACTIVE's trading application: a polynomial of the price over the last 1,000 quotes of a symbol, at every 25th.

penstock run examples/streaming/trading.py --duration 60
penstock candlesticks out/estimates-1 --picture out/candlesticks.svg

A folder holds the files of one run, so each run takes a new one: out/estimates-1, out/estimates-2 and so on.  The run
names it at its end.  To go on with an earlier run, put its folder before the command that it printed:

ESTIMATES=out/estimates-1 penstock run examples/streaming/trading.py --checkpoint CHECKPOINT
"""

import itertools
import os
from pathlib import Path

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
folders = (f"out/estimates-{number}" for number in itertools.count(1))
unused = next(folder for folder in folders if not Path(folder).exists())
estimates.sink("out", ps.sinks.parquet(os.environ.get("ESTIMATES", unused)))
