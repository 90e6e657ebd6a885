"""Dates and times (MODEL's A.1) and stock reports (A.2, A.3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.connectors.trace.market import (
    CLOSE_US,
    OPEN_US,
    draw_codes,
    generator,
    lot_sizes,
    on_grid,
    opening_prices,
    price_walks,
    texts,
    ticker_names,
    zipf_weights,
)

_SYMBOLS = 100
_YEAR = np.datetime64("2005-01-01")
_DAYS = 365


def dates_and_times(rows: int, seed: int) -> pa.Table:
    """Table(dateTime): increasing moments of the trading days of 2005, such as '2005-12-27 14:23:00'."""
    return pa.table({"dateTime": _moments(generator(seed, "dates_and_times"), rows)})


def stock_reports(rows: int, seed: int) -> pa.Table:
    """Table(symbol, dateTime, closingPrice, volume): reports of a hundred stocks in order of time."""
    rng = generator(seed, "stock_reports")
    codes = draw_codes(rng, rows, zipf_weights(_SYMBOLS))
    prices = on_grid(price_walks(rng, codes, opening_prices(rng, _SYMBOLS)))
    columns = {
        "symbol": texts(codes, ticker_names(_SYMBOLS)),
        "dateTime": _moments(rng, rows),
        "closingPrice": pa.array(prices),
        "volume": pa.array(lot_sizes(rng, rows, typical_lots=50.0)),
    }
    return pa.table(columns)


def _moments(rng: np.random.Generator, rows: int) -> pa.Array:
    """Whole seconds of trading hours on weekdays, in order, many at the open and the close."""
    days = _weekdays()
    day = np.sort(rng.integers(0, len(days), rows))
    share = np.where(rng.random(rows) < 0.6, rng.random(rows), rng.beta(0.5, 0.6, rows))
    second = (OPEN_US // 1_000_000 + share * ((CLOSE_US - OPEN_US) // 1_000_000)).astype(np.int64)
    moments = np.sort(days[day].astype("datetime64[s]") + second.astype("timedelta64[s]"))
    return pc.strftime(pa.array(moments), "%Y-%m-%d %H:%M:%S")


def _weekdays() -> npt.NDArray[np.datetime64]:
    days = _YEAR + np.arange(_DAYS)
    return np.asarray(days[np.is_busday(days)])
