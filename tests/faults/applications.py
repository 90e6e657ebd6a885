"""An application whose second window lies behind a second exchange, so that a stateful task is a map task too."""

from __future__ import annotations

from penstock import sources
from penstock.app.application import Application
from penstock.app.windows import sliding
from penstock.connectors.kinds import SinkConnector


def two_windows(sink: SinkConnector, total: int) -> Application:
    """Means per ticker, then the spread of those means per lot size; both depend on the order of tuples."""
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
