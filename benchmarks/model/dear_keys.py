"""Dear keys: equal counts, costs that differ by 20, two replicas; how even the work is after rebalancing, on Spark."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import penstock as ps
from penstock.block.column import column_of
from penstock.measure.observation import Observation
from penstock.spark.session.session import Session

KEYS, RATE_TUPLES_S = 200, 800.0
CHEAP_US, DEAR_US = 50, 1000
ELEMENT = "work"
_LAST = 30  # micro-batches that are judged


@dataclass(frozen=True, slots=True)
class EvenKeys:
    """Every key as often as every other."""

    keys: int = KEYS

    def __call__(self, offsets: npt.NDArray[np.int64]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array(offsets % self.keys)], names=["k"])


@dataclass(frozen=True, slots=True)
class DearKeys:
    """A user's operator by key that computes for so many microseconds, as the key says."""

    cost_us: tuple[int, ...]

    def state(self) -> dict[str, int]:
        return {"n": 0}

    def process(self, row: dict[str, Any], state: dict[str, int]) -> dict[str, Any]:
        end_ns = time.thread_time_ns() + 1000 * self.cost_us[row["k"]]
        while time.thread_time_ns() < end_ns:
            pass
        state["n"] += 1
        return {"k": row["k"], "n": state["n"]}


def costs_by_key() -> tuple[int, ...]:
    """Most keys of the first replica are dear, most of the second cheap."""
    slots = ps.slots.HashSlots().slots_of([column_of(pa.array(range(KEYS)), pa.int64())], KEYS)
    chance = np.random.default_rng(5)
    is_dear = chance.random(KEYS) < np.where(np.asarray(slots) < 256, 0.8, 0.1)
    return tuple(DEAR_US if dear else CHEAP_US for dear in is_dear.tolist())


def imbalance_of(observations: Sequence[Observation]) -> float:
    """CPU of the busiest replica over that of the mean one."""
    spent: dict[int, float] = {}
    for seen in observations:
        for replica in seen.replicas_by_element.get(ELEMENT, ()):
            spent[replica.replica] = spent.get(replica.replica, 0.0) + replica.cpu_s
    return max(spent.values()) / (sum(spent.values()) / len(spent)) if len(spent) > 1 else 1.0


def run_dear_keys(session: Session, seconds: float) -> tuple[float, float]:
    """The imbalance before anything was moved, and after."""
    app = ps.Application("dear keys")
    source = app.source("keys", ps.sources.trace("constant", RATE_TUPLES_S, function=EvenKeys()))
    work = source.operator(ELEMENT, DearKeys(costs_by_key()), by="k", schema={"k": "int64", "n": "int64"})
    work.sink("out", ps.sinks.discard())
    handle = ps.start(
        app, session=session, goal=ps.throughput(), limits=ps.Limits(min_replicas=2, max_replicas=2),
        configuration=ps.Configuration.of(app, 2),
    )  # fmt: skip
    try:
        handle.wait(seconds)
    finally:
        seen = handle.stop().observations
    first = [o for o in seen if len(o.replicas_by_element.get(ELEMENT, ())) == 2][2:8]
    return imbalance_of(first), imbalance_of(seen[-_LAST:])
