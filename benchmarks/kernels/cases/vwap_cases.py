"""Cases of the whole of `vwap_per_ticker`: filter, window of 4 trades per ticker, nine columns out."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.kernels.cases import limits
from benchmarks.kernels.job import KEY_TYPES, Case, Frames, Job, KeyType, Query, Scale, even_cuts
from benchmarks.kernels.loop import Loop
from benchmarks.kernels.ticks import draw_ticks, key_column, key_names, trade_kinds
from penstock.cli.demo.vwap import COLUMNS, vwap_per_ticker

GOAL_RATIO = 0.40
STRING_GOAL_RATIO = 0.15
_SQL = """
SELECT ticker, count(*) OVER w AS n, min(price) OVER w AS low, max(price) OVER w AS high, avg(price) OVER w AS mean,
    sum(price * volume) OVER w AS notional, sum(volume) OVER w AS volume,
    sum(price * volume) OVER w / sum(volume) OVER w AS vwap, price * 100 AS cents
FROM quotes WHERE ttype = 'Trade'
WINDOW w AS (PARTITION BY ticker ORDER BY seq ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)
"""


def vwap_cases() -> list[Case]:
    """Each spelling of tickers, and for information larger blocks."""
    note = "limit: the sketch's loop on integer tickers"
    cases = [
        Case(f"vwap_{key_type}", "vwap", key_type, STRING_GOAL_RATIO if key_type == "string" else GOAL_RATIO,
             partial(_vwap, key_type), note)
        for key_type in KEY_TYPES
    ]  # fmt: skip
    large = "blocks of 65,536 as in the sketch; for information"
    return [*cases, Case("vwap_int32_65536", "vwap", "int32", None, partial(_vwap, "int32"), large, block_rows=65_536)]


def _vwap(key_type: KeyType, scale: Scale) -> Job:
    ticks, names = draw_ticks(scale.rows, scale.keys or limits.KEYS, scale.generator), key_names(limits.KEYS)
    parts = (np.split(a, scale.blocks) for a in (ticks.ticker, ticks.is_trade, ticks.price, ticks.volume))
    buffers = limits.vwap_buffers(scale.block_rows)
    outputs = dict(zip(COLUMNS, buffers[3:], strict=True))
    loop = Loop(limits.vwap_per_ticker, list(zip(*parts, strict=True)), buffers[:3], outputs)
    table = pa.table({
        "seq": np.arange(scale.rows), "ticker": key_column(ticks.ticker, names, key_type),
        "ttype": trade_kinds(ticks, key_type), "price": ticks.price, "volume": ticks.volume,
    })  # fmt: skip
    app = vwap_per_ticker(key_type, "string" if key_type == "string" else "symbol")
    query = Query(polars_vwap, _SQL)
    return Job(app, {"quotes": table}, even_cuts("quotes", scale), loop, query,
               {} if key_type == "int32" else {"ticker": names}, warm_tuples=16 * limits.KEYS)  # fmt: skip


def polars_vwap(frames: Frames) -> Any:
    """The job as a lazy frame of polars."""
    import polars as pl

    price, volume, notional = pl.col("price"), pl.col("volume"), pl.col("price") * pl.col("volume")
    rolled = frames["quotes"].filter(pl.col("ttype") == "Trade").select(
        "ticker",
        n=pl.min_horizontal(pl.int_range(pl.len()).over("ticker") + 1, pl.lit(4)),
        low=price.rolling_min(4, min_samples=1).over("ticker"),
        high=price.rolling_max(4, min_samples=1).over("ticker"),
        mean=price.rolling_mean(4, min_samples=1).over("ticker"),
        notional=notional.rolling_sum(4, min_samples=1).over("ticker"),
        volume=volume.rolling_sum(4, min_samples=1).over("ticker"),
        cents=price * 100,
    )  # fmt: skip
    return rolled.with_columns(vwap=pl.col("notional") / pl.col("volume")).select(COLUMNS)
