"""The applications of volume-weighted prices compute what a plain loop over tuples computes."""

from __future__ import annotations

from collections import defaultdict, deque

import pyarrow as pa
import pytest

import penstock as ps
from penstock.cli.demo.vwap import COLUMNS, vwap, vwap_per_ticker
from penstock.connectors.trace.trades import TickerType, trades

ROWS, KEYS = 600, 7


def result(group: list[dict[str, float]]) -> list[float]:
    """The nine columns for the trades of one window, oldest first."""
    prices = [trade["price"] for trade in group]
    notional = sum(trade["price"] * trade["volume"] for trade in group)
    volume = sum(trade["volume"] for trade in group)
    low, high, mean = min(prices), max(prices), sum(prices) / len(prices)
    first = group[0]["ticker"], len(group), low, high, mean
    return [*first, notional, volume, notional / volume, prices[-1] * 100]


def per_ticker(table: pa.Table) -> list[list[float]]:
    last: dict[object, deque[dict[str, float]]] = defaultdict(lambda: deque(maxlen=4))
    results = []
    for row in table.to_pylist():
        if row["ttype"] == "Trade":
            last[row["ticker"]].append(row)
            results.append(result(list(last[row["ticker"]])))
    return results


def over_all(table: pa.Table) -> list[list[float]]:
    last: deque[dict[str, float]] = deque(maxlen=4)
    results = []
    for row in table.to_pylist():
        if row["ttype"] == "Trade":
            last.append(row)
            groups = dict.fromkeys(trade["ticker"] for trade in last)
            results += [result([trade for trade in last if trade["ticker"] == ticker]) for ticker in groups]
    return results


def check(found: pa.Table, wanted: list[list[float]]) -> None:
    assert tuple(found.column_names) == COLUMNS
    rows = [list(row.values()) for row in found.to_pylist()]
    assert [row[:4] for row in rows] == [row[:4] for row in wanted]
    for row, right in zip(rows, wanted, strict=True):
        assert row[4:] == pytest.approx(right[4:], rel=1e-12)


@pytest.mark.parametrize("ticker", ["symbol", "string", "int32"])
def test_vwap_per_ticker_equals_a_plain_loop(ticker: TickerType) -> None:
    table = trades(ROWS, keys=KEYS, ticker=ticker)
    app = vwap_per_ticker(ticker, "string" if ticker == "string" else "symbol")
    check(ps.evaluate(app, {"quotes": table}, block_rows=97)["out"], per_ticker(table))


def test_vwap_over_all_tickers_equals_a_plain_loop() -> None:
    table = trades(ROWS, keys=KEYS)
    check(ps.evaluate(vwap(), {"quotes": table}, block_rows=97)["out"], over_all(table))
