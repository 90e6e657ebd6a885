"""Cases of time windows per key: 100,000 tuples per second of event time, in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numba as nb
import numpy as np
import pyarrow as pa

from benchmarks.kernels.cases.bare_kernels import KeyLookup, TimeKernel
from benchmarks.kernels.cases.limits import KEYS
from benchmarks.kernels.job import KEY_TYPES, Case, Frames, Job, KeyType, Query, Scale, even_cuts
from benchmarks.kernels.loop import Array, Loop
from benchmarks.kernels.ticks import draw_ticks, key_column, key_names
from penstock.app.application import Application
from penstock.app.windows import sliding, tumbling
from penstock.kernels.windows.aggregates import AggregateCall
from penstock.kernels.windows.time.time_window import TimeWindow

GOAL_RATIO = 0.70
PANE_US = 1_000_000
_FIRST_US = 1_700_000_000 * PANE_US
_STEP_US = 10
_CALLS = {"ticker": "any(ticker)", "end": "window_end()", "n": "count()", "total": "sum(price)"}


def time_cases() -> list[Case]:
    """Sliding 60 s every 1 s, and tumbling 1 s."""
    note = "100,000 tuples per event second; limit: running totals"
    return [
        Case(f"{name}_{key_type}", "window", key_type, GOAL_RATIO if key_type == "int32" else None,
             partial(_window, panes, key_type), note if key_type == "int32" else f"{note}; kernel as for int32")
        for name, panes in (("time_tumbling_1s", 1), ("time_sliding_60s", 60))
        for key_type in KEY_TYPES[:2]
    ]  # fmt: skip


def _window(panes: int, key_type: KeyType, scale: Scale) -> Job:
    keys = scale.keys or KEYS
    ticks, names = draw_ticks(scale.rows, keys, scale.generator), key_names(keys)
    # a slice of less than a second is made thinner, so that it still reaches beyond one window
    step_us = _STEP_US if scale.rows * _STEP_US > PANE_US else (panes + 4) * PANE_US // scale.rows
    times = _FIRST_US + np.arange(scale.rows) * step_us
    keyed = key_column(ticks.ticker, names, key_type)
    table = pa.table({"ticker": keyed, "ts": pa.array(times, pa.timestamp("us")), "price": ticks.price})
    own = [np.array(part) for part in np.split(times, scale.blocks)]
    inputs = list(zip(np.split(ticks.ticker, scale.blocks), own, np.split(ticks.price, scale.blocks), strict=True))
    firings = scale.block_rows * step_us // PANE_US + 2
    state, outputs = time_buffers(panes, keys, _FIRST_US // PANE_US, firings * keys)
    return Job(
        _application(panes, table.schema),
        {"ticks": table},
        even_cuts("ticks", scale),
        Loop(time_windows, inputs, state, outputs, own, scale.rows * step_us),
        Query(partial(_polars, panes), _sql(panes)),
        {} if key_type == "int32" else {"ticker": names},
        times="ts",
        span_us=scale.rows * step_us,
        warm_tuples=panes * PANE_US // step_us,
        kernel=partial(_kernel, panes, keys, inputs, scale.rows * step_us) if key_type == "int32" else None,
        lookup=partial(KeyLookup, table.column("ticker"), (scale.block_rows,) * scale.blocks),
    )


def _kernel(panes: int, keys: int, blocks: Sequence[tuple[Array, ...]], span_us: int) -> TimeKernel:
    calls = (AggregateCall("count", None), AggregateCall("sum", 0))
    return TimeKernel(TimeWindow(panes * PANE_US, PANE_US, calls, (np.dtype(np.float64),)), keys, blocks, span_us)


def _application(panes: int, schema: pa.Schema) -> Application:
    app = Application(f"time_{panes}")
    window = tumbling(time_s=1, on="ts") if panes == 1 else sliding(time_s=panes, every_s=1, on="ts")
    app.source("ticks", schema=schema).aggregate("window", by="ticker", window=window, emit=_CALLS).sink("out")
    return app


def _sql(panes: int) -> str:
    """Sums per pane; each pane then counts in as many windows as a window has panes."""
    pane = f"epoch_us(ts) // {PANE_US}"
    parts = f"SELECT ticker, {pane} AS pane, count(*) AS n, sum(price) AS total FROM ticks GROUP BY ticker, pane"
    windows = f"SELECT ticker, n, total, unnest(range(pane + 1, pane + 1 + {panes})) AS stop FROM ({parts})"
    closed = f"stop <= (SELECT max({pane}) FROM ticks)"
    return (f"SELECT ticker, make_timestamp(stop * {PANE_US}) AS \"end\", sum(n)::BIGINT AS n, sum(total) AS total "
            f"FROM ({windows}) WHERE {closed} GROUP BY ticker, stop")  # fmt: skip


def _polars(panes: int, frames: Frames) -> Any:
    import polars as pl

    clock = frames["ticks"].select(clock=pl.col("ts").max().dt.truncate("1s"))
    windows = frames["ticks"].group_by_dynamic(
        "ts", every="1s", period=f"{panes}s", offset=f"-{panes - 1}s", closed="left", label="right", group_by="ticker"
    )
    made = windows.agg(n=pl.len().cast(pl.Int64), total=pl.col("price").sum())
    closed = made.join(clock, how="cross").filter(pl.col("ts") <= pl.col("clock"))
    return closed.select("ticker", pl.col("ts").alias("end"), "n", "total")


def time_buffers(panes: int, keys: int, first_pane: int, rows: int) -> tuple[tuple[Array, ...], dict[str, Array]]:
    """State (number of the pane being filled, ring of panes, totals: sum and count side by side) and outputs."""
    state = (np.full(1, first_pane), np.zeros((panes, keys, 2)), np.zeros((keys, 2)))
    outputs: dict[str, Array] = {"ticker": np.zeros(rows, np.int32), "end": np.zeros(rows, np.int64)}
    outputs |= {"n": np.zeros(rows, np.int64), "total": np.zeros(rows)}
    return state, outputs


@nb.njit(nogil=True, cache=True)
def time_windows(ticker, event_us, price, current, ring, totals, out_ticker, out_end, out_n, out_total):  # type: ignore[no-untyped-def]
    """The limit: windows of as many panes as the ring has, one firing per pane; gives the number of rows written.

    Tuples come in order of time; at each firing a key's total takes in one pane and gives up another.
    """
    j = 0
    pane = current[0]
    slot = pane % ring.shape[0]
    next_us = (pane + 1) * PANE_US
    for i in range(ticker.shape[0]):
        while event_us[i] >= next_us:
            coming = (slot + 1) % ring.shape[0]  # holds the pane that leaves the window
            for key in range(totals.shape[0]):
                total, count = totals[key, 0] + ring[slot, key, 0], totals[key, 1] + ring[slot, key, 1]
                if count > 0:
                    out_ticker[j], out_end[j], out_n[j], out_total[j] = key, next_us, count, total
                    j += 1
                totals[key, 0], totals[key, 1] = total - ring[coming, key, 0], count - ring[coming, key, 1]
                ring[coming, key, 0], ring[coming, key, 1] = 0.0, 0.0
            pane, slot, next_us = pane + 1, coming, next_us + PANE_US
        k = ticker[i]
        ring[slot, k, 0] += price[i]
        ring[slot, k, 1] += 1.0
    current[0] = pane
    return j
