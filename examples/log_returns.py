"""A Python function on blocks: prices through Arrow's own functions, then the spread of each ticker's returns.

penstock generate trades --rows 100000 --output out/data
penstock evaluate examples/log_returns.py --input trades=out/data/trades.parquet --output out/returns
"""

import pyarrow as pa
import pyarrow.compute as pc

import penstock as ps


def with_logarithm(block: pa.RecordBatch) -> pa.RecordBatch:
    """As many rows as came, so that each keeps its place in the stream."""
    return pa.record_batch({"ticker": block.column("ticker"), "log_price": pc.ln(block.column("price"))})


app = ps.Application("log_returns")

trades = app.source(
    "trades",
    schema={"seq": "int64", "ticker": "symbol", "ttype": "symbol", "price": "float64", "volume": "float64"},
)
logarithms = trades.functor("real_trades", where="ttype = 'Trade'").map(
    "logarithms", with_logarithm, schema={"ticker": "symbol", "log_price": "float64"}
)
steps = logarithms.aggregate(
    "steps",
    by="ticker",
    window=ps.sliding(count=2, per_group=True),
    emit={"ticker": "any(ticker)", "n": "count()", "step": "last(log_price) - first(log_price)"},
)
volatility = steps.functor("complete", where="n = 2", emit={"ticker": "ticker", "step": "step"}).aggregate(
    "volatility",
    by="ticker",
    window=ps.tumbling(count=100, per_group=True),
    emit={"ticker": "any(ticker)", "deviation": "stddev(step)", "worst": "min(step)", "best": "max(step)"},
)
volatility.sink("out")
