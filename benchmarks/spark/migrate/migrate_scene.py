"""The scene of `python -m benchmarks migrate`: the application, the load that steps up and down, and the two routes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.spark.applications import KEYED, SINK, SOURCE
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.app.windows import sliding
from penstock.plan.configuration import SLOTS

TIMED = "timed"
FEW, MANY = 3, 4
_LONGEST_S = 7200.0  # for so long tuples come


@dataclass(frozen=True, slots=True)
class MigrateEffort:
    """State, load and repetitions; the rate is `low_tuples_s` for `half_s`, then four thirds of it for as long."""

    keys: int = 600_000
    window_tuples: int = 80
    low_tuples_s: float = 24_000.0
    half_s: float = 13.0
    runs: int = 5
    timed_every: int = 4  # of so many results one is timed
    block_rows: int = 16_384
    catch_up_limit_s: float = 120.0

    @property
    def fill_tuples(self) -> int:
        """Tuples that come at once at the beginning, so that windows are about full."""
        return self.keys * self.window_tuples

    @property
    def period_s(self) -> float:
        return 2 * self.half_s


QUICK = MigrateEffort(keys=20_000, window_tuples=40, low_tuples_s=6_000.0, half_s=8.0, runs=1)


def scene_application(effort: MigrateEffort, folder: Path) -> Application:
    """Windows over several figures of each ticker: all results discarded and summed up, some of them timed."""
    trace = sources.trace(rate_file(effort, folder), keys=effort.keys, ticker="int32")
    app = Application("prices_per_ticker")
    window = sliding(count=effort.window_tuples, every=1, per_group=True)
    emit = {
        "ticker": "any(ticker)", "seq": "last(seq)", "price": "sum(price)", "low": "min(price)", "high": "max(price)",
        "volume": "sum(volume)", "least": "min(volume)", "most": "max(volume)",
    }  # fmt: skip
    results = app.source(SOURCE, trace).aggregate(KEYED, by="ticker", window=window, emit=emit)
    results.sink(SINK, sinks.discard())
    where = f"seq >= {effort.fill_tuples} and seq % {effort.timed_every} = 0"
    timed = results.functor(TIMED, where=where, emit={"ticker": "ticker", "seq": "seq"})
    timed.sink("files", sinks.parquet(folder / TIMED))
    return app


def rate_file(effort: MigrateEffort, folder: Path) -> Path:
    """The load as seconds and rates: what fills the windows in the first second, then low and high in turns."""
    path = folder / "rates.csv"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        high = effort.low_tuples_s * MANY / FEW
        turns = round(_LONGEST_S / effort.half_s)
        rows = [(0.0, float(effort.fill_tuples)), *((1.0 + i * effort.half_s, (effort.low_tuples_s, high)[i % 2])
                for i in range(turns))]  # fmt: skip
        path.write_text("seconds,rate\n" + "".join(f"{at_s:g},{rate:.0f}\n" for at_s, rate in rows))
    return path


def next_step_up_s(effort: MigrateEffort, clock_s: float) -> float:
    """When the rate goes up next, on the trace's clock."""
    first_s = 1.0 + effort.half_s
    return float(first_s + np.ceil(max(0.0, clock_s - first_s) / effort.period_s) * effort.period_s)


def stepped_route(route: tuple[int, ...], hosts: tuple[str, ...]) -> tuple[int, ...]:
    """The route of four replicas: a fifth of the slots stay with their replica, and nearly half go to the other host.

    Of the three replicas two share a host.  A fourth comes to the host of the third; every replica has most of its
    slots, as far as others leave it the choice, from where it runs.
    """
    lone = next(r for r in range(FEW) if hosts.count(hosts[r]) == 1)
    one, two = (r for r in range(FEW) if r != lone)
    slots = {r: [slot for slot, own in enumerate(route) if own == r] for r in range(FEW)}
    unit = len(route) / SLOTS
    takes = {
        one: {one: 34, two: 56, lone: 38},
        two: {two: 34, one: 56, lone: 38},
        lone: {lone: 34, one: 41, two: 41},
    }
    after = [FEW] * len(route)  # what nobody takes is the new one's
    for replica, quotas in takes.items():
        for source, count in quotas.items():
            for slot in [slots[source].pop() for _ in range(round(count * unit))]:
                after[slot] = replica
    return tuple(after)
