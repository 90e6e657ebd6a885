"""The applications that the benches run, over a trace and into a sink."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.application import Application
from penstock.app.operators import Operator, Sink, Source
from penstock.app.windows import sliding
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.connectors.kinds import SinkConnector
from penstock.connectors.trace.source import TraceSource

SOURCE, SINK, KEYED = "quotes", "out", "window"


def vwap_on(trace: TraceSource, sink: SinkConnector) -> Application:
    """`vwap_per_ticker` with its source and sink connected."""
    app = vwap_per_ticker(trace.ticker, "string" if trace.ticker == "string" else "symbol")
    graph = app.graph
    return Application.from_graph(replace(graph, operators=tuple(_joined(o, trace, sink) for o in graph.operators)))


def sums_on(trace: TraceSource, sink: SinkConnector, window_tuples: int) -> Application:
    """The sum of each ticker's last volumes: one column of state, so that long windows of many keys fit a machine."""
    app = Application("volume_per_ticker")
    trades = app.source(SOURCE, trace).functor(
        "trades", where="ttype = 'Trade'", emit={"ticker": "ticker", "volume": "volume"}
    )
    window = sliding(count=window_tuples, every=1, per_group=True)
    emit = {"ticker": "any(ticker)", "volume": "sum(volume)"}
    trades.aggregate(KEYED, by="ticker", window=window, emit=emit).sink(SINK, sink)
    return app


def _joined(operator: Operator, trace: TraceSource, sink: SinkConnector) -> Operator:
    if isinstance(operator, Source):
        return replace(operator, connector=trace)
    return replace(operator, connector=sink) if isinstance(operator, Sink) else operator
