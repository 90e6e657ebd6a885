"""A trading day as a vendor's file of trades and quotes, which MODEL's A.5 reads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.connectors.trace.market import (
    LOT,
    TICK,
    Codes,
    Floats,
    cumulative_sums,
    draw_codes,
    generator,
    grouped,
    lot_sizes,
    on_grid,
    opening_prices,
    price_walks,
    session_times_us,
    texts,
    ticker_names,
    zipf_weights,
)

DATE = "27-DEC-2005"
_TICKERS = 500
_EXCHANGES = pa.array(["NYS", "NAS", "ASE", "PSE", "BSE"], pa.string())
_KINDS = pa.array(["Trade", "Quote"], pa.string())
_QUOTE_SHARE = 0.6


def trades_and_quotes(rows: int, seed: int) -> pa.Table:
    """Eighteen columns in the order of the file; a trade has no quote fields (null), a quote no trade fields.

    The columns that A.5 reads: 1-3 ticker, date, time; 5 type; 7-9 price, volume and the day's VWAP of the ticker so
    far; 11 bid price; 15-16 ask price and size.
    """
    rng = generator(seed, "trades_and_quotes")
    codes = draw_codes(rng, rows, zipf_weights(_TICKERS))
    is_quote = rng.random(rows) < _QUOTE_SHARE
    middle = price_walks(rng, codes, opening_prices(rng, _TICKERS))
    half_spread = np.maximum(TICK / 2, middle * 2e-4 * np.exp(rng.normal(0.0, 0.5, rows)))
    # A trade meets the bid or the ask: prices bounce between the two.
    price = on_grid(middle + half_spread * np.where(rng.random(rows) < 0.5, -1.0, 1.0))
    volume = lot_sizes(rng, rows).astype(np.float64)
    bid = on_grid(middle - half_spread)
    ask = np.maximum(on_grid(middle + half_spread), on_grid(bid + TICK))
    columns = {
        "ticker": texts(codes, ticker_names(_TICKERS)),
        "date": pa.repeat(pa.scalar(DATE), rows),
        "time": _clock(session_times_us(rng, rows)),
        "gmt_offset": pa.repeat(pa.scalar(-5, pa.int64()), rows),
        "ttype": texts(is_quote.astype(np.int32), _KINDS),
        "exchange": texts(draw_codes(rng, rows, zipf_weights(len(_EXCHANGES))), _EXCHANGES),
        "price": pa.array(price, mask=is_quote),
        "volume": pa.array(volume, mask=is_quote),
        "vwap": pa.array(_vwap_so_far(codes, price, np.where(is_quote, 0.0, volume)), mask=is_quote),
        "buyer": pa.nulls(rows, pa.string()),
        "bidprice": pa.array(bid, mask=~is_quote),
        "bidsize": _lots(rng, ~is_quote),
        "bidders": _counts(rng, ~is_quote),
        "seller": pa.nulls(rows, pa.string()),
        "askprice": pa.array(ask, mask=~is_quote),
        "asksize": _lots(rng, ~is_quote),
        "sellers": _counts(rng, ~is_quote),
        "qualifiers": pa.nulls(rows, pa.string()),
    }
    return pa.table(columns)


def _clock(times_us: npt.NDArray[np.int64]) -> pa.Array:
    """Times of the day such as 09:30:00.123456."""
    return pc.strftime(pa.array(times_us).cast(pa.timestamp("us")), "%H:%M:%S")


def _vwap_so_far(codes: Codes, price: Floats, volume: Floats) -> Floats:
    """sum(price * volume) / sum(volume) of a ticker up to each row, to four decimals; 0 before its first trade."""
    order, starts = grouped(codes)
    notional = cumulative_sums((price * volume)[order], starts)
    shares = cumulative_sums(volume[order], starts)
    vwap = np.zeros(len(codes))
    vwap[order] = np.round(np.divide(notional, shares, out=np.zeros(len(codes)), where=shares > 0), 4)
    return vwap


def _lots(rng: np.random.Generator, is_null: npt.NDArray[np.bool_]) -> pa.Array:
    """Quoted sizes: whole lots, as quotes give them."""
    return pa.array((lot_sizes(rng, len(is_null), typical_lots=5.0) // LOT).astype(np.float64), mask=is_null)


def _counts(rng: np.random.Generator, is_null: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.array(1 + rng.poisson(2.0, len(is_null)).astype(np.int64), mask=is_null)
