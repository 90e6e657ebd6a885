"""A user-defined operator with state per ticker: tells when a price rose several trades in a row.

penstock generate trades --rows 100000 --output out/data
penstock evaluate examples/momentum.py --input trades=out/data/trades.parquet --output out/momentum
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import penstock as ps


@dataclass
class Streak:
    """What is remembered of a ticker."""

    price: float = float("inf")
    length: int = 0
    start: float = 0.0


class Rises:
    """Emits a tuple when a ticker's price has risen `length` times in a row, and starts anew."""

    def __init__(self, length: int) -> None:
        self.length = length

    def state(self) -> Streak:
        return Streak()

    def process(self, row: dict[str, Any], streak: Streak) -> Iterator[dict[str, Any]]:
        if row["price"] > streak.price:
            streak.length += 1
        else:
            streak.length, streak.start = 0, row["price"]
        streak.price = row["price"]
        if streak.length == self.length:
            yield {"seq": row["seq"], "ticker": row["ticker"], "rise": row["price"] - streak.start}
            streak.length, streak.start = 0, row["price"]


app = ps.Application("momentum")

trades = app.source(
    "trades",
    schema={"seq": "int64", "ticker": "symbol", "ttype": "symbol", "price": "float64", "volume": "float64"},
)
rises = trades.functor("real_trades", where="ttype = 'Trade'").operator(
    "rises", Rises(length=3), by="ticker", schema={"seq": "int64", "ticker": "symbol", "rise": "float64"}
)
large, small = rises.split("by_size", {"large": "rise >= 0.25", "small": None})
large.sink("large")
small.sink("small")
