"""One application with every operator, for tests that must not miss one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import penstock as ps

QUOTES = {"ticker": "symbol", "price": "float64 not null", "volume": "int64", "at": "timestamp", "tags": "list<string>"}
ORDERS = {"ticker": "string", "side": "string", "at": "timestamp"}


def middle(values: pa.Array) -> Any:
    return values[len(values) // 2]


def doubled(batch: pa.RecordBatch) -> pa.Table:
    return pa.table({"ticker": batch["ticker"], "twice": pc.multiply(batch["price"], 2)})


def letters(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for letter in row["ticker"] or "":
        yield {"letter": letter}


class Counter:
    """A user-defined operator that counts."""

    def state(self) -> list[int]:
        return [0]

    def process(self, row: dict[str, Any], state: list[int]) -> dict[str, Any]:
        state[0] += 1
        return {"n": state[0]}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counter)

    def __hash__(self) -> int:
        return hash(Counter)


def everything() -> ps.Application:
    app = ps.Application("everything")
    quotes = app.source(
        "quotes", ps.sources.csv("quotes.csv", header=False, columns=(1, 3, 4, 6, 7)), QUOTES, stamp="at"
    )
    orders = app.source("orders", ps.sources.parquet("orders.parquet"), ORDERS, rate_tuples_s=5)
    priced = quotes.functor(
        "priced", where="price > 1.5 and ticker is not null", emit={"ticker": "ticker", "x": "price * 2"}
    )
    several = quotes.functor("several", emit=[{"n": "seq_num()"}, {"n": "volume + 1"}])
    dear, cheap = priced.split("by_price", {"dear": "x >= 10", "cheap": None})
    both = dear.delay("later", 0.5).union("both", cheap.throttle("slow", 3))
    marked = both.punctor("marked", "x > 100", before=True)
    segments = {"ticker": "any(ticker)", "mid": "middle(x)", "rows": "mcnt()"}
    own = {"middle": ps.aggregate_function(middle, "float64")}
    marked.aggregate("segments", window=ps.sliding(punctuation=2), by="ticker", emit=segments, functions=own).sink(
        "segmented"
    )
    bars = {"low": "min(price)", "all": "collect(ticker)", "end": "window_end()", "spread": "max(price) - min(price)"}
    quotes.aggregate("bars", window=ps.tumbling(time_s=60, on="at"), emit=bars).sink("barred", ps.sinks.parquet("bars"))
    marked.sort("sorted", ["x desc", "ticker"], window=ps.tumbling(count=3)).sink("in_order", ps.sinks.csv("sorted"))
    quotes.join(
        "filled", orders, left_window=ps.sliding(count=3, per_group=True), right_window=ps.sliding(time_s=2, on="at"),
        on="ticker", where="left.price > 1 or right.side = 'it''s'", emit={"t": "left.ticker", "side": "side"},
    ).sink("fills")  # fmt: skip
    quotes.barrier("met", orders, emit={"price": "quotes.price", "side": "orders.side"}).sink("pairs")
    quotes.load("busy", 10, wait_ms_per_tuple=0.01, wait_ms_per_block=0.5).sink("worked")
    quotes.map("doubled", doubled, {"ticker": "symbol", "twice": "float64"}).sink("mapped")
    quotes.map("letters", letters, {"letter": "string"}, per_tuple=True).sink("spelt")
    several.operator("counted", Counter(), schema={"n": "int64"}, by="n").sink("counts")
    app.request("priced", partition="front", host="node1")
    return app
