"""Applications to attack, of a sink and a number of tuples; one more is a function and a line of `APPLICATIONS`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock import sources
from penstock.app.application import Application
from penstock.app.stream import Stream
from penstock.app.windows import sliding, tumbling
from penstock.connectors.kinds import SinkConnector
from tests.spark.applications import prices


def two_windows(sink: SinkConnector, total: int) -> Application:
    """Means per ticker, then the spread of those means per lot size; both depend on the order of tuples.

    The second window lies behind a second exchange, so that a stateful task is a map task too.
    """
    app = Application("two_windows")
    trace = sources.trace(rate="unbounded", keys=50, seed=11, total=total, ticker="string")
    means = app.source("quotes", trace).aggregate(
        "means",
        by="ticker",
        window=sliding(count=8, every=1, per_group=True),
        emit={"seq": "last(seq)", "ticker": "any(ticker)", "mean": "avg(price)", "volume": "last(volume)"},
    )
    spreads = means.aggregate(
        "spreads",
        by="volume",
        window=sliding(count=5, every=1, per_group=True),
        emit={"seq": "last(seq)", "volume": "any(volume)", "total": "sum(mean)", "newest": "last(mean)"},
    )
    spreads.sink("out", sink)
    return app


def event_time(sink: SinkConnector, total: int) -> Application:
    """Bars per ticker over event time, a thousand tuples to the second, and the last three of each."""
    app = Application("event_time")
    bars = _timed(app, "quotes", total, seed=3).aggregate(
        "bars",
        by="ticker",
        window=tumbling(time_s=0.5, on="at"),
        emit={"ticker": "any(ticker)", "at": "max(at)", "n": "count()", "open": "first(price)", "close": "last(price)"},
    )
    bars.aggregate(
        "recent",
        by="ticker",
        window=sliding(count=3, every=1, per_group=True),
        emit={"ticker": "any(ticker)", "at": "last(at)", "n": "sum(n)", "moved": "sum(close - open)"},
    ).sink("out", sink)
    return app


def joined(sink: SinkConnector, total: int) -> Application:
    """Two sources joined on the ticker within a tenth of a second of event time."""
    app = Application("joined")
    left, right = (_timed(app, name, total // 2, seed=seed) for name, seed in (("quotes", 3), ("others", 4)))
    window = sliding(time_s=0.1, on="at")
    left.join(
        "pairs",
        right,
        left_window=window,
        right_window=window,
        on="ticker",
        emit={"ticker": "left.ticker", "at": "left.at", "other": "right.at", "spread": "left.price - right.price"},
    ).sink("out", sink)
    return app


def several_sources(sink: SinkConnector, total: int) -> Application:
    """Three sources in one order, and each ticker's sums over all of them."""
    app = Application("several_sources")
    first, *rest = (_timed(app, name, total // 3, seed=i) for i, name in enumerate(("quotes", "more", "most")))
    first.union("all", *rest).aggregate(
        "sums",
        by="ticker",
        window=sliding(count=10, every=1, per_group=True),
        emit={"ticker": "any(ticker)", "at": "last(at)", "total": "sum(price)", "low": "min(price)"},
    ).sink("out", sink)
    return app


def disordered(sink: SinkConnector, total: int) -> Application:
    """Bars over event time whose tuples come up to a fifth of a second late, of two sources."""
    app = Application("disordered")
    sources_ = [
        app.source(
            name,
            sources.trace("unbounded", total=total // 2, function=late_quotes),
            event_time="at",
            out_of_order_s=0.2,
        )
        for name in ("quotes", "others")
    ]
    sources_[0].union("all", sources_[1]).aggregate(
        "bars",
        by="ticker",
        window=tumbling(time_s=0.5, on="at"),
        emit={"ticker": "any(ticker)", "at": "max(at)", "n": "count()", "open": "first(price)", "close": "last(price)"},
    ).sink("out", sink)
    return app


def late_quotes(offsets: npt.NDArray[np.int64]) -> pa.Table:
    """Quotes a millisecond apart, each up to 0.19 s late."""
    at = offsets * 0.001 - (offsets * 7919 % 191) * 0.001
    tickers = pa.array(offsets % 40).cast(pa.string())
    return pa.table({"at": at, "ticker": tickers, "price": (offsets * 31 % 1000) * 0.25})


def _timed(app: Application, name: str, total: int, seed: int) -> Stream:
    """A source whose tuples are a millisecond apart, in the order of the others."""
    trace = sources.trace(rate="unbounded", keys=40, seed=seed, total=total, ticker="string")
    source = app.source(name, trace, stamp="seq")
    return source.functor(f"{name}_timed", emit={"at": "seq * 0.001", "ticker": "ticker", "price": "price"})


APPLICATIONS: dict[str, Callable[[SinkConnector, int], Application]] = {
    "prices": prices,
    "two_windows": two_windows,
    "event_time": event_time,
    "joined": joined,
    "several_sources": several_sources,
    "disordered": disordered,
}
