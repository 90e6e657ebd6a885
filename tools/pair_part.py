"""Figures of one part of the benchmarks in the tree that this runs in: `python tools/pair_part.py PART FOLDER`.

`tools/pairs.py` runs it in two trees in turn, so it uses only what both have. Higher is better for every figure.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.spark.applications import vwap_on
from benchmarks.spark.migrate.migrate import MigrateRun
from benchmarks.spark.migrate.migrate_scene import QUICK as MIGRATE
from benchmarks.spark.state import QUICK as STATE
from benchmarks.spark.state import run_state
from benchmarks.spark.sustained import Sizes, at_rate, configuration_of, sustain
from benchmarks.spark.watching import started, watch_batches
from penstock import sinks, sources
from penstock.runtime.migration.migration import PRE_COPY
from penstock.testing import local_session, loopback_cluster

_SIZES = Sizes((1 << 24,), (131_072,))
_WARM_BATCHES, _FLOOR_BATCHES, _FLOOR_TUPLES = 100, 200, 64
_CHANGES = 2
_PACED_TUPLES_S = 5_000_000.0


def vwap(folder: Path) -> dict[str, float]:
    """Tuples a second into `discard`, and one over p95 at a rate that both trees keep."""
    with local_session() as session:
        app = vwap_on(sources.trace(rate="unbounded", ticker="int32"), sinks.discard())
        own = sustain(session, app, folder / "most", _SIZES, 0.0, 8.0, _silent, warm_s=4.0)
        paced = vwap_on(sources.trace("constant", _PACED_TUPLES_S, ticker="int32"), sinks.discard())
        late = at_rate(session, paced, folder / "paced", own.configuration, 5.0, 8.0, _silent).late
    return {"tuples_s": own.rate.tuples_s, "p95_at_5m_1_s": 1000 / late.quantile_ms(0.95)}


def floor(folder: Path) -> dict[str, float]:
    """Micro-batches a second of few tuples."""
    app = vwap_on(sources.trace(rate="unbounded", ticker="int32"), sinks.discard())
    own = replace(configuration_of(app), micro_batch_tuples=_FLOOR_TUPLES, block_rows=_FLOOR_TUPLES // 2)
    with local_session() as session, started(session, app, folder / "floor", own) as handle:
        watch_batches(handle, _WARM_BATCHES, _silent, "")
        observed = watch_batches(handle, _FLOOR_BATCHES, _silent, "")
    begun_s = [o.started_at_s for o in observed]
    return {"micro_batches_s": 1 / median(b - a for a, b in itertools.pairwise(begun_s))}


def state(folder: Path) -> dict[str, float]:
    """Tuples a second by keys and windows, and starts a second after a kill."""
    found = run_state(replace(STATE, cases=((100_000, 4), (1_000, 1_000)), cluster_batches=0), folder, _silent)
    figures = {f"{c.keys}x{c.window_tuples}": c.figures for c in found.cases}
    rates = {f"{name}_tuples_s": float(own["tuples_s"]) for name, own in figures.items()}
    return {**rates, **{f"{name}_restarts_s": 1000 / own["restart_ms"] for name, own in figures.items()}}


def migrate(folder: Path) -> dict[str, float]:
    """One over the longest gap and over the p99 of keys that moved, of two changes."""
    with loopback_cluster(folder / "cluster", workers=2, cores=4, memory_mb=1024) as cluster:
        run = MigrateRun(MIGRATE, folder / "run", cluster.url, _silent)
        with run.started():
            changes = [run.change(PRE_COPY, "") for _ in range(_CHANGES)]
    return {
        "gap_1_s": 1000 / median(change.gap_ms for change in changes),
        "moved_p99_1_s": 1000 / median(change.moved.p99_ms for change in changes),
    }


PARTS: dict[str, Callable[[Path], dict[str, float]]] = {
    "vwap": vwap, "floor": floor, "state": state, "migrate": migrate,
}  # fmt: skip


def _silent(text: str) -> None:
    """Progress is shown by whoever called."""


if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](Path(sys.argv[2]))), flush=True)
