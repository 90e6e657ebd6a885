"""The application of the benchmark `soak`: every kind of state over a bounded set of keys, at a steady rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import penstock as ps

KEYED = ("bars", "pairs", "recent")  # what changes its number of replicas
_LATE_S = 0.2


@dataclass(frozen=True, slots=True)
class SoakEffort:
    """How long, at which rate of each of the two sources, over how many keys; `warm_s` come before what is measured.

    `part_s`: how long the first and the last part are whose latencies are compared.
    """

    minutes: float = 60.0
    rate_tuples_s: float = 500.0
    keys: int = 200
    warm_s: float = 600.0
    part_s: float = 600.0
    sample_s: float = 15.0
    change_s: float = 60.0


def effort_of(minutes: float, rate_tuples_s: float = 500.0) -> SoakEffort:
    """The effort of a run of so many minutes; one of less than half an hour warms up and compares for a sixth of it."""
    part_s = min(600.0, minutes * 10.0)
    return SoakEffort(
        minutes, rate_tuples_s, warm_s=part_s, part_s=part_s, sample_s=min(15.0, part_s / 4),
        change_s=min(60.0, part_s / 2),
    )  # fmt: skip


class Totals:
    """State of the user's own: how many pairs a key had, and the sum of their last values."""

    def state(self) -> dict[str, float]:
        return {"n": 0.0, "sum": 0.0}

    def process(self, row: dict[str, float], state: dict[str, float]) -> dict[str, float]:
        state["n"] += 1
        state["sum"] = 0.9 * state["sum"] + row["x"]
        return {"key": row["key"], "at": row["at"], "n": int(state["n"]), "sum": state["sum"]}


def ticks(offsets: npt.NDArray[np.int64], rate_tuples_s: float, keys: int) -> pa.Table:
    """Tuples of some offsets: in event time as far apart as they arrive, each up to 0.19 s late."""
    at = offsets / rate_tuples_s - (offsets * 7919 % 191) * 0.001
    return pa.table({"at": at, "key": offsets * 31 % keys, "x": (offsets * 17 % 1000) * 0.25})


def soak_application(effort: SoakEffort, out: Path) -> ps.Application:
    """Bars over event time as Parquet files; pairs of a join, counted by key; the last values of each key."""
    app = ps.Application("soak")
    function = partial(ticks, rate_tuples_s=effort.rate_tuples_s, keys=effort.keys)
    left, right = (
        app.source(
            name, ps.sources.trace("constant", effort.rate_tuples_s, function=function), event_time="at",
            out_of_order_s=_LATE_S,
        )
        for name in ("left", "right")
    )  # fmt: skip
    left.aggregate(
        "bars", by="key", window=ps.tumbling(time_s=1.0, on="at"),
        emit={"key": "any(key)", "at": "max(at)", "n": "count()", "open": "first(x)", "close": "last(x)"},
    ).sink("bars_out", ps.sinks.parquet(out))  # fmt: skip
    window = ps.sliding(time_s=0.5, on="at")
    pairs = left.join(
        "pairs", right, left_window=window, right_window=window, on="key",
        emit={"key": "left.key", "at": "left.at", "x": "left.x + right.x"},
    )  # fmt: skip
    schema = {"key": "int64", "at": "float64", "n": "int64", "sum": "float64"}
    pairs.operator("totals", Totals(), schema=schema, by="key").sink("totals_out", ps.sinks.discard())
    left.union("both", right).aggregate(
        "recent", by="key", window=ps.sliding(count=50, every=5, per_group=True),
        emit={"key": "any(key)", "mean": "avg(x)", "low": "min(x)"},
    ).sink("recent_out", ps.sinks.discard())  # fmt: skip
    return app
