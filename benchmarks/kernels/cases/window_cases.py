"""Cases of count windows per key: kind x size x keys x spelling of keys."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.kernels.cases.bare_kernels import CountKernel, KeyLookup
from benchmarks.kernels.cases.window_limits import window_buffers, window_loop
from benchmarks.kernels.job import KEY_TYPES, Case, Frames, Job, KeyType, Query, Scale, even_cuts
from benchmarks.kernels.loop import Array, Loop
from benchmarks.kernels.ticks import draw_ticks, key_column, key_names
from penstock.app.application import Application
from penstock.app.windows import sliding, tumbling
from penstock.kernels.windows.aggregates import AggregateCall
from penstock.kernels.windows.count.count_window import CountWindow

GOAL_RATIO = 0.70
SIZES = (4, 10, 1000)
KEY_COUNTS = (2836, 100_000)
_NOTES: dict[KeyType, str] = {"int32": "", "symbol": "kernel as for int32", "string": "kernel as for int32"}


def window_cases() -> list[Case]:
    """All count windows, the tumbling ones first."""
    return [
        Case(f"{kind}_{size}_{keys}_{key_type}", "window", key_type, GOAL_RATIO if key_type == "int32" else None,
             partial(_window, kind, size, keys, key_type), _note(kind, size, keys, key_type))
        for kind, size, keys, key_type in product(("tumbling", "sliding"), SIZES, KEY_COUNTS, KEY_TYPES)
    ]  # fmt: skip


def _note(kind: str, size: int, keys: int, key_type: KeyType) -> str:
    sums = ["running add/subtract sum"] if (kind, size) == ("sliding", 1000) else []
    # the engine's kernels ask for memory ahead and the plain loop does not, so that a ratio may exceed 1 here
    waiting = ["limit does not prefetch"] if kind == "sliding" and keys == KEY_COUNTS[-1] else []
    return "; ".join(text for text in (*sums, *waiting, _NOTES[key_type]) if text)


def _window(kind: str, size: int, case_keys: int, key_type: KeyType, scale: Scale) -> Job:
    keys = scale.keys or case_keys
    ticks, names = draw_ticks(scale.rows, keys, scale.generator), key_names(keys)
    table = pa.table(
        {"seq": np.arange(scale.rows), "ticker": key_column(ticks.ticker, names, key_type), "price": ticks.price}
    )
    inputs = list(zip(np.split(ticks.ticker, scale.blocks), np.split(ticks.price, scale.blocks), strict=True))
    state, outputs = window_buffers(kind, size, keys, scale.block_rows)
    loop = Loop(window_loop(kind, size), inputs, state, outputs)
    query = Query(partial(_polars, kind, size), _sliding_sql(size) if kind == "sliding" else _tumbling_sql(size))
    return Job(
        _application(kind, size, table.schema),
        {"ticks": table},
        even_cuts("ticks", scale),
        loop,
        query,
        {} if key_type == "int32" else {"ticker": names},
        warm_tuples=size * keys,
        kernel=partial(_kernel, kind, size, keys, inputs) if key_type == "int32" else None,
        lookup=partial(KeyLookup, table.column("ticker"), (scale.block_rows,) * scale.blocks),
    )


def _kernel(kind: str, size: int, keys: int, blocks: list[tuple[Array, Array]]) -> CountKernel:
    """The window's kernel with the same calls, but for the key's own."""
    words = {"total": "sum", "low": "min", "high": "max", "mean": "avg"}
    named = {"n": AggregateCall("count", None)}
    named |= {name: AggregateCall(words[name], 0) for name in _calls(kind, size)}  # type: ignore[arg-type]
    window = CountWindow(size, 1, kind == "tumbling", tuple(named.values()), (np.dtype(np.float64),))
    return CountKernel(window, keys, blocks, list(named))


def _application(kind: str, size: int, schema: pa.Schema) -> Application:
    app = Application(f"{kind}_{size}")
    window = sliding(count=size, every=1, per_group=True) if kind == "sliding" else tumbling(count=size, per_group=True)
    calls = {"ticker": "any(ticker)", "n": "count()"} | _calls(kind, size)
    app.source("ticks", schema=schema).aggregate("window", by="ticker", window=window, emit=calls).sink("out")
    return app


def _calls(kind: str, size: int) -> dict[str, str]:
    extremes = {} if (kind, size) == ("sliding", 1000) else {"low": "min(price)", "high": "max(price)"}
    return {"total": "sum(price)", **extremes, "mean": "avg(price)"}


def _sliding_sql(size: int) -> str:
    calls = ", ".join(f"{call} OVER w AS {name}" for name, call in _calls("sliding", size).items())
    window = f"PARTITION BY ticker ORDER BY seq ROWS BETWEEN {size - 1} PRECEDING AND CURRENT ROW"
    return f"SELECT ticker, count(*) OVER w AS n, {calls} FROM ticks WINDOW w AS ({window})"


def _tumbling_sql(size: int) -> str:
    calls = ", ".join(f"{call} AS {name}" for name, call in _calls("tumbling", size).items())
    numbered = f"SELECT *, (row_number() OVER (PARTITION BY ticker ORDER BY seq) - 1) // {size} AS part FROM ticks"
    return f"SELECT ticker, count(*) AS n, {calls} FROM ({numbered}) GROUP BY ticker, part HAVING count(*) = {size}"


def _polars(kind: str, size: int, frames: Frames) -> Any:
    import polars as pl

    price, number = pl.col("price"), pl.int_range(pl.len()).over("ticker")
    if kind == "tumbling":
        calls = {"total": price.sum(), "low": price.min(), "high": price.max(), "mean": price.mean()}
        parts = frames["ticks"].with_columns(part=number // size).group_by("ticker", "part")
        made = parts.agg(n=pl.len().cast(pl.Int64), **{name: calls[name] for name in _calls(kind, size)})
        return made.filter(pl.col("n") == size).drop("part")
    rolled = {
        "total": price.rolling_sum(size, min_samples=1).over("ticker"),
        "low": price.rolling_min(size, min_samples=1).over("ticker"),
        "high": price.rolling_max(size, min_samples=1).over("ticker"),
        "mean": price.rolling_mean(size, min_samples=1).over("ticker"),
    }
    held = pl.min_horizontal(number + 1, pl.lit(size))
    return frames["ticks"].select("ticker", held.alias("n"), **{name: rolled[name] for name in _calls(kind, size)})
