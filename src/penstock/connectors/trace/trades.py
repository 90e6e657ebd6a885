"""The stream of the demonstration and the benchmarks: half trades, half quotes of many tickers."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pyarrow as pa

from penstock.connectors.trace.market import (
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
from penstock.connectors.trace.market_tables import kind_names
from penstock.errors import InputError

TickerType = Literal["symbol", "string", "int32"]
KEYS = 2836  # the number of tickers in PROACTIVE's trading day


def trades(rows: int, keys: int = KEYS, seed: int = 7, ticker: TickerType = "symbol") -> pa.Table:
    """Table(seq int64, ticker, ttype, price float64, volume float64) in order of arrival, exactly half of it trades.

    `ticker` says how tickers are written: dictionary-coded, as plain strings, or as numbers below `keys`; ttype is a
    plain string where tickers are, else dictionary-coded.

    >>> trades(4, keys=2, seed=1).column_names
    ['seq', 'ticker', 'ttype', 'price', 'volume']
    """
    if ticker not in get_args(TickerType):
        raise InputError(f"tickers are written as one of {', '.join(get_args(TickerType))}; got {ticker!r}")
    rng = generator(seed, "trades")
    codes = draw_codes(rng, rows, zipf_weights(keys))
    kinds = rng.permutation(np.arange(rows, dtype=np.int32) % 2)
    prices = on_grid(price_walks(rng, codes, opening_prices(rng, keys)))
    columns = {
        "seq": pa.array(np.arange(rows)),
        "ticker": pa.array(codes) if ticker == "int32" else _names(codes, ticker_names(keys), ticker),
        "ttype": _names(kinds, kind_names(), "string" if ticker == "string" else "symbol"),
        "price": pa.array(prices),
        "volume": pa.array(lot_sizes(rng, rows).astype(np.float64)),
    }
    return pa.table(columns)


def _names(codes: np.ndarray[tuple[int], np.dtype[np.int32]], names: pa.Array, kind: TickerType) -> pa.Array:
    if kind == "string":
        return texts(codes, names)
    return pa.DictionaryArray.from_arrays(pa.array(codes), names)
