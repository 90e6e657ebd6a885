"""The data of the cases: keys, prices and volumes drawn as in the sketch, with keys in three spellings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.kernels.job import KeyType
from penstock.connectors.trace.market import ticker_names

_KINDS = pa.array(["Quote", "Trade"], pa.string())


@dataclass(frozen=True, slots=True)
class Ticks:
    """Tickers as codes, a trade flag (1 for trades), prices, volumes."""

    ticker: npt.NDArray[np.int32]
    is_trade: npt.NDArray[np.int8]
    price: npt.NDArray[np.float64]
    volume: npt.NDArray[np.float64]


def draw_ticks(rows: int, keys: int, rng: np.random.Generator) -> Ticks:
    """Rows drawn as in the sketch."""
    return Ticks(rng.integers(0, keys, rows).astype(np.int32), rng.integers(0, 2, rows).astype(np.int8),
                 rng.random(rows) * 100 + 1, np.floor(rng.random(rows) * 1000) + 1)  # fmt: skip


def key_column(codes: npt.NDArray[np.int32], names: pa.Array, key_type: KeyType) -> pa.Array:
    """Codes in a spelling: numbers, dictionary-coded texts or plain texts."""
    if key_type == "int32":
        return pa.array(codes)
    if key_type == "string":
        return names.take(pa.array(codes))
    return pa.DictionaryArray.from_arrays(pa.array(codes), names)


def trade_kinds(ticks: Ticks, key_type: KeyType) -> pa.Array:
    """'Trade' or 'Quote': plain texts beside plain tickers, else dictionary-coded."""
    return key_column(ticks.is_trade.astype(np.int32), _KINDS, "string" if key_type == "string" else "symbol")


def key_names(keys: int) -> pa.Array:
    """The text of each code."""
    return ticker_names(keys)
