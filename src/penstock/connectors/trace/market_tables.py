"""What a trace's tuples are made of: names, base prices and volumes, as small tables to look up in."""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.connectors.trace.market import LOT, Floats, generator, opening_prices, ticker_names

PRICES = 4096  # base prices; a ticker beyond them has the price of another, so that the table stays in the cache
VOLUMES = 1024
_TYPICAL_LOTS = 2.0


@functools.cache
def kind_names() -> pa.Array:
    """The type of each code; made when it is needed, since Arrow imports pandas for its first array."""
    return pa.array(["Trade", "Quote"], pa.string())


@functools.lru_cache(maxsize=8)
def names_of(keys: int) -> pa.Array:
    """The ticker of each code: one object per number of keys, so that blocks share their dictionary."""
    return ticker_names(keys)


@functools.lru_cache(maxsize=8)
def base_cents(seed: int) -> npt.NDArray[np.int32]:
    """What a ticker costs about, in cents, by the lower bits of its code."""
    prices = opening_prices(generator(seed, "trace prices"), PRICES)
    return np.rint(prices * 100).astype(np.int32)


@functools.cache
def volumes() -> Floats:
    """Shares in round lots at the quantiles of a log-normal distribution: any entry is as likely as any other."""
    normal = NormalDist(math.log(_TYPICAL_LOTS), 1.0)
    lots = [max(1, round(math.exp(normal.inv_cdf((i + 0.5) / VOLUMES)))) for i in range(VOLUMES)]
    return np.array(lots, np.float64) * LOT
