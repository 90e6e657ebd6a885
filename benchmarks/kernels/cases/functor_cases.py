"""Cases of the functor: a numeric filter and a projection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.kernels.cases.limits import KEYS, filter_rows, project_rows
from benchmarks.kernels.job import Case, Frames, Job, Query, Scale, even_cuts
from benchmarks.kernels.loop import Array, Loop
from benchmarks.kernels.ticks import draw_ticks
from penstock.app.application import Application

GOAL_RATIO = 0.30
_EXPRESSIONS = {
    "notional": "price * volume",
    "per_share": "(price - 50) / volume",
    "blend": "price * 1.01 + volume * 0.5",
}
_WHERE = "price > 50 and volume < 500"


def functor_cases() -> list[Case]:
    """Filter and projection."""
    return [
        Case("filter", "functor", None, GOAL_RATIO, _filter, "two comparisons, a quarter passes, 4 columns out"),
        Case("projection", "functor", None, GOAL_RATIO, _projection, "3 expressions on 2 float64 columns"),
    ]


def _filter(scale: Scale) -> Job:
    ticks = draw_ticks(scale.rows, KEYS, scale.generator)
    columns: dict[str, Array] = {"seq": np.arange(scale.rows), "ticker": ticks.ticker}
    columns |= {"price": ticks.price, "volume": ticks.volume}
    outputs = {name: np.zeros(scale.block_rows, values.dtype) for name, values in columns.items()}
    app = Application("filter")
    app.source("ticks", schema=pa.table(columns).schema).functor("passed", where=_WHERE).sink("out")
    names = ", ".join(columns)
    return _job(
        scale, app, columns, filter_rows, outputs, Query(_polars_filter, f"SELECT {names} FROM ticks WHERE {_WHERE}")
    )


def _projection(scale: Scale) -> Job:
    ticks = draw_ticks(scale.rows, KEYS, scale.generator)
    columns: dict[str, Array] = {"price": ticks.price, "volume": ticks.volume}
    outputs: dict[str, Array] = {name: np.zeros(scale.block_rows) for name in _EXPRESSIONS}
    app = Application("projection")
    app.source("ticks", schema=pa.table(columns).schema).functor("made", emit=_EXPRESSIONS).sink("out")
    named = ", ".join(f"{text} AS {name}" for name, text in _EXPRESSIONS.items())
    return _job(scale, app, columns, project_rows, outputs, Query(_polars_projection, f"SELECT {named} FROM ticks"))


def _job(
    scale: Scale,
    app: Application,
    columns: dict[str, Array],
    loop: Callable[..., int],
    outputs: dict[str, Array],
    query: Query,
) -> Job:
    parts = {name: np.split(values, scale.blocks) for name, values in columns.items()}
    inputs = [tuple(part[i] for part in parts.values()) for i in range(scale.blocks)]
    return Job(app, {"ticks": pa.table(columns)}, even_cuts("ticks", scale), Loop(loop, inputs, (), outputs), query)


def _polars_filter(frames: Frames) -> Any:
    import polars as pl

    return frames["ticks"].filter((pl.col("price") > 50) & (pl.col("volume") < 500))


def _polars_projection(frames: Frames) -> Any:
    import polars as pl

    price, volume = pl.col("price"), pl.col("volume")
    return frames["ticks"].select(
        notional=price * volume, per_share=(price - 50) / volume, blend=price * 1.01 + volume * 0.5
    )
