"""A source that falls silent does not hold the others for ever; who is idle is written in the batch's plan."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.runtime.driver.source_arrivals import SourceArrivals
from penstock.runtime.replica.arrivals import ARRIVAL
from tests.dataplane.rows_plane import Delivery, RowsPlane

SCHEMA = {"who": "int64", "s": "float64"}


def table(who: int, *stamps: float) -> pa.Table:
    return pa.table({"who": [who] * len(stamps), "s": pa.array(stamps, pa.float64())})


def merged(idle_timeout_s: float | None) -> ps.Application:
    app = ps.Application("merged")
    busy = app.source("busy", ps.sources.csv("busy"), SCHEMA, stamp="s")
    silent = app.source("silent", ps.sources.csv("silent"), SCHEMA, stamp="s", idle_timeout_s=idle_timeout_s)
    busy.union("both", silent).sink("out")
    return app


DELIVERIES: list[Delivery] = [
    {"busy": [table(0, 1, 2)], "silent": [table(1, 1.5)]},
    {"busy": [table(0, 3)]},
    {"busy": [table(0, 4)]},
    {"busy": [table(0, 5)]},
    {"busy": [table(0, 6)], "silent": [table(1, 4.5, 5.5)]},
    {"busy": [table(0, 7)]},
]


def ran(app: ps.Application, kills: float = 0.0, seed: int = 0) -> tuple[list[tuple[int, float]], list[Any], RowsPlane]:
    with tempfile.TemporaryDirectory() as directory:
        plane = RowsPlane(app.graph, DELIVERIES, Path(directory), seed, kills)
        tables, letters = plane.run_all()
    return [(row["who"], row["s"]) for row in tables["out"].to_pylist()], letters.to_pylist(), plane


def test_without_a_timeout_a_silent_source_holds_the_others() -> None:
    assert ran(merged(None))[0] == [(0, 1.0), (1, 1.5), (0, 2.0), (0, 3.0), (0, 4.0), (1, 4.5), (0, 5.0), (1, 5.5)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kills", [0.0, 0.3])
def test_an_idle_source_holds_nobody_and_what_it_delivers_behind_them_is_a_dead_letter(kills: float, seed: int) -> None:
    out, letters, plane = ran(merged(2.0), kills, seed)
    assert [dict(plan.idle) for plan in plane.plans] == [{}, {}, {}, {"silent": (0,)}, {"silent": (0,)}, {}]
    assert out == [(0, 1.0), (1, 1.5), (0, 2.0), (0, 3.0), (0, 4.0), (0, 5.0), (1, 5.5)]
    reason = "came after its source was idle for 2 s and the others went on"
    assert [(own["operator"], own["reason"], own["row"]) for own in letters] == [
        ("silent", reason, '{"who": 1, "s": 4.5}')
    ]


@pytest.mark.parametrize(
    ("idle_timeout_s", "let_go", "fired"),
    [(None, [1.0, 1.5, 2.0, 5.0], []), (2.0, [1.0, 1.5, 2.0, 5.0, 5.5], [[1.0, 1.5], [2.0]])],
)
def test_the_timeline_of_an_input_that_pauses_in_the_semantics(
    idle_timeout_s: float | None, let_go: list[float], fired: list[list[float]]
) -> None:
    app = ps.Application("paused")
    one, two = (
        app.source(
            name, ps.sources.csv(name), SCHEMA, event_time="s", out_of_order_s=1, idle_timeout_s=idle_timeout_s
        )
        for name in "ab"
    )  # fmt: skip
    both = one.union("both", two)
    both.sink("out")
    both.aggregate("bars", window=ps.tumbling(time_s=2, on="s"), emit={"all": "collect(s)"}).sink("o")
    deliveries: list[Delivery] = [{"a": [table(0, 1, 2, 5)], "b": [table(1, 1.5, 5.5)]}, *[{}] * 4]
    with tempfile.TemporaryDirectory() as directory:
        tables, letters = RowsPlane(app.graph, deliveries, Path(directory), 0, 0.1).run_all()
    assert tables["out"].column("s").to_pylist() == let_go
    assert tables["o"].column("all").to_pylist() == fired
    assert letters.num_rows == 0


def test_partitions_are_idle_one_by_one() -> None:
    app = ps.Application("partitions")
    app.source("rate", ps.sources.rate(10), idle_timeout_s=2.0).sink("out")
    now_s = 0.0
    arrivals = SourceArrivals(app.graph, lambda: now_s)
    assert arrivals.idle() == {}
    arrivals.note({"rate": [np.array([(0, 5, 0.0), (1, 5, 0.0)], ARRIVAL), np.array([(2, 0, 0.0)], ARRIVAL)]})
    assert arrivals.partitions(None) == {"rate": 2}
    now_s = 1.5
    arrivals.note({"rate": [np.array([(1, 5, 0.0)], ARRIVAL)]})
    assert arrivals.idle_in_s({}) == 0.5
    now_s = 2.5
    assert arrivals.idle() == {"rate": (0,)}
    assert arrivals.idle_in_s({"rate": (0,)}) == 1.0
    now_s = 4.0
    assert arrivals.idle() == {"rate": (0, 1)}
    assert arrivals.idle_in_s(arrivals.idle()) is None


def test_a_source_that_never_delivered_becomes_idle_too() -> None:
    app = merged(2.0)
    now_s = 10.0
    arrivals = SourceArrivals(app.graph, lambda: now_s)
    assert arrivals.idle() == {}
    now_s = 12.5
    assert arrivals.idle() == {"silent": (0,)}
