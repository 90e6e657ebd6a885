"""Streams whose keys come and go: a worker keeps those of open windows, and the results stay the same to the bit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.plan.configuration import Configuration
from penstock.runtime.driver.first_configuration import first_configuration
from penstock.runtime.replica import element_worker, event_time_element
from penstock.runtime.replica.event_time_element import EventTimeElement
from tests.dataplane.plane import Plane
from tests.reference.python_functions import plain_rows

LEAST_KEYS, KEYS_AT_ONCE, TUPLES = 16, 8, 900
WINDOW = ps.sliding(time_s=2, every_s=1, on="t")


class Steady(Plane):
    """One replica throughout, so that nothing but its keys has an operator made anew."""

    most_keys = 0

    def _any_configuration(self) -> Configuration:
        return first_configuration(self.fixed, 1, 50)

    def between_batches(self) -> None:
        for worker in element_worker._workers.values():
            if isinstance(worker.operators, EventTimeElement):
                self.most_keys = max(self.most_keys, worker.operators._operator.key_count)


def passing(rng: random.Random) -> pa.Table:
    """Each key has some tuples within a second, and never comes again."""
    rows = [{"t": place * 0.05, "k": f"k{place // 20 * KEYS_AT_ONCE + rng.randrange(KEYS_AT_ONCE)}",
             "x": rng.choice([0.1, 1e16, -1e16, 1.7])} for place in range(TUPLES)]  # fmt: skip
    return pa.Table.from_pylist(rows, pa.schema([("t", pa.float64()), ("k", pa.string()), ("x", pa.float64())]))


def windows(bound: float | None, emit: dict[str, str]) -> ps.Application:
    app = ps.Application("passing")
    source = app.source(
        "s", schema={"t": "float64", "k": "string", "x": "float64"}, event_time="t", out_of_order_s=bound
    )
    source.aggregate("bars", window=WINDOW, by="k", emit={"k": "any(k)", "end": "window_end()"} | emit).sink("out")
    return app


def pairs(bound: float | None) -> ps.Application:
    app = ps.Application("passing")
    source = app.source(
        "s", schema={"t": "float64", "k": "string", "x": "float64"}, event_time="t", out_of_order_s=bound
    )
    other = source.functor("again", emit={"t": "t", "k": "k", "x": "x + 1"})
    near = ps.sliding(time_s=0.3, on="t")
    emit: Any = {"k": "left.k", "s": "left.x + right.x"}
    source.join("pairs", other, left_window=near, right_window=near, on="k", emit=emit).sink("out")
    return app


@pytest.mark.parametrize("bound", [None, 1.0])
@pytest.mark.parametrize("kind", ["sums", "lists", "pairs"])
def test_keys_whose_windows_have_gone_are_forgotten(
    kind: str, bound: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_time_element, "_LEAST_KEYS", LEAST_KEYS)
    emits = {"sums": {"s": "sum(x)", "n": "count()"}, "lists": {"all": "collect(x)"}}
    app = pairs(bound) if kind == "pairs" else windows(bound, emits[kind])
    table = passing(random.Random(7))
    expected = ps.evaluate(app, {"s": table})["out"]
    plane = Steady(app.graph, {"s": table}, tmp_path, seed=3, kills=0.0)
    got, letters = plane.run_all()
    assert letters.num_rows == 0
    assert plain_rows(got["out"]) == plain_rows(expected)
    open_keys = 4 * KEYS_AT_ONCE  # of a window and what a batch brings
    assert plane.most_keys <= 2 * max(open_keys, LEAST_KEYS) + 4 * KEYS_AT_ONCE
    assert len(set(table["k"].to_pylist())) > 5 * plane.most_keys
