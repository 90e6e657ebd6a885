"""Event time on the data plane: equal to the in-process engine, whatever replicas, batches, partitions and deaths."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.connectors.dataframe import DataFrameSource
from tests.dataplane.rows_plane import Delivery, RowsPlane
from tests.dataplane.test_graphs import assert_equal
from tests.property.element.test_event_time import MADE, bounds
from tests.reference.python_functions import plain_rows
from tests.reference.streams import trades

SCHEMA = {"k": "int64", "t": "float64", "n": "int64"}
BARS = {"k": "any(k)", "end": "window_end()", "n": "count()", "all": "collect(n)", "first": "first(n)"}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())
@given(table=trades(), bound=bounds, seed=st.integers(0, 2**32), kills=st.sampled_from([0.0, 0.2]))
@settings(max_examples=25)
def test_watermarks_on_any_replicas(
    make: Callable[[float], ps.Application], table: pa.Table, bound: float, seed: int, kills: float
) -> None:
    assert_equal(make(bound).graph, {"trades": table}, seed, kills)


def windowed(connector: Any, bound: float, sources: int = 1, **settings: Any) -> ps.Application:
    app = ps.Application("windowed")
    streams = [
        app.source(f"s{i}", connector, SCHEMA, event_time="t", out_of_order_s=bound, **settings) for i in range(sources)
    ]
    both = streams[0] if sources == 1 else streams[0].union("both", *streams[1:])
    both.aggregate("bars", window=ps.tumbling(time_s=2, on="t"), by="k", emit=BARS).sink("out")
    emit = {"n": "sum(n)", "c": "count()"}
    both.aggregate("all", window=ps.sliding(time_s=4, every_s=2, on="t"), emit=emit).sink("o")
    return app


def in_partitions(app: ps.Application) -> Graph:
    """The graph with sources that Spark would deliver in partitions."""
    operators = [replace(o, connector=DataFrameSource()) if isinstance(o, Source) else o for o in app.graph.operators]
    return replace(app.graph, operators=tuple(operators))


def events(count: int, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [{"k": rng.randrange(5), "t": i * 0.25, "n": i} for i in range(count)]


def shuffled(rows: list[dict[str, Any]], within_s: float, rng: random.Random) -> list[dict[str, Any]]:
    """A permutation in which nothing comes more than the bound behind a later event."""
    return sorted(rows, key=lambda row: row["t"] + rng.random() * within_s * 0.99)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema([("k", pa.int64()), ("t", pa.float64()), ("n", pa.int64())]))


def cut(rows: list[dict[str, Any]], rng: random.Random) -> list[list[dict[str, Any]]]:
    parts, start = [], 0
    while start < len(rows):
        stop = start + rng.choice([1, 5, 20, 60])
        parts.append(rows[start:stop])
        start = stop
    return parts


def by_key(table: pa.Table) -> list[Any]:
    return sorted(map(repr, plain_rows(table)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("partitions", [1, 2, 4])
def test_partitions_cuts_and_permutations_within_the_bound_give_the_same_results(seed: int, partitions: int) -> None:
    rng, rows = random.Random(seed), events(240, seed)
    app = windowed(ps.sources.csv("in"), 3.0)
    graph = app.graph if partitions == 1 else in_partitions(app)
    expected = ps.evaluate(windowed(None, 3.0), {"s0": table_of(rows)})
    deliveries: list[Delivery] = []
    for part in cut(rows, rng):  # each partition has every so many events, in an order of its own
        own = [shuffled([row for row in part if row["n"] % partitions == p], 3.0, rng) for p in range(partitions)]
        deliveries.append({"s0": [table_of(rows_) for rows_ in own]})
    with tempfile.TemporaryDirectory() as directory:
        got, letters = RowsPlane(graph, deliveries, Path(directory), seed, 0.1).run_all()
    assert letters.to_pylist() == []
    for name in ("out", "o"):
        assert plain_rows(got[name]) == plain_rows(expected[name])[: got[name].num_rows], name
        assert got[name].num_rows > 0.9 * expected[name].num_rows - 10


ODD = pa.schema([("k", pa.string()), ("t", pa.float64()), ("n", pa.int64()), ("x", pa.float64())])
ORDERED = {"s": "sum(x)", "a": "avg(x)", "f": "first(x)", "l": "last(n)", "c": "collect(n)", "m": "max(x)"}


def odd_events(count: int, rng: random.Random) -> list[dict[str, Any]]:
    """Values whose sum depends on its order, NaN and nulls too, groups without a key, and times before 1970."""
    values = [0.1, 1e16, -1e16, float("nan"), None, 1.7]
    return [
        {"k": rng.choice(["a", "b", None]), "t": i * 0.125 + rng.random() * 0.1 - 5, "n": i, "x": rng.choice(values)}
        for i in range(count)
    ]


def order_dependent(connector: Any, bound: float, sources: int) -> ps.Application:
    app, schema = ps.Application("odd"), {"k": "string", "t": "float64", "n": "int64", "x": "float64"}
    streams = [app.source(f"s{i}", connector, schema, event_time="t", out_of_order_s=bound) for i in range(sources)]
    both = streams[0] if sources == 1 else streams[0].union("both", *streams[1:])
    window = ps.tumbling(time_s=2, on="t")
    both.aggregate("bars", window=window, by="k", emit=ORDERED | {"k": "any(k)"}).sink("out")
    both.aggregate("all", window=ps.sliding(time_s=4, every_s=2, on="t"), emit=ORDERED).sink("o")
    other = streams[-1] if sources > 1 else both.functor("again", emit={name: name for name in schema})
    near = ps.sliding(time_s=1.5, on="t")
    emit = {"a": "left.n", "b": "right.n", "s": "left.x + right.x"}
    streams[0].join("j", other, left_window=near, right_window=near, on="k", emit=emit).sink("pairs")
    return app


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("sources", [1, 2])
def test_order_dependent_results_are_the_same_to_the_bit_for_any_permutation_cut_and_partitioning(
    seed: int, partitions: int, sources: int
) -> None:
    rng = random.Random(seed)
    rows, bound = odd_events(160, rng), rng.choice([1.0, 3.0])
    own = [[row for row in rows if row["n"] % sources == i] for i in range(sources)]
    given = {f"s{i}": pa.Table.from_pylist(own[i], ODD) for i in range(sources)}
    expected = ps.evaluate(order_dependent(None, bound, sources), given)
    app = order_dependent(ps.sources.csv("in"), bound, sources)
    deliveries: list[Delivery] = []
    for part in cut(rows, rng):
        numbers = {row["n"] for row in part}
        delivery = {}
        for i in range(sources):
            by_partition: list[list[dict[str, Any]]] = [[] for _ in range(partitions)]
            for row in own[i]:
                if row["n"] in numbers:
                    by_partition[row["n"] // sources % partitions].append(row)
            delivery[f"s{i}"] = [pa.Table.from_pylist(shuffled(mine, bound, rng), ODD) for mine in by_partition]
        deliveries.append(delivery)
    with tempfile.TemporaryDirectory() as directory:
        graph = app.graph if partitions == 1 else in_partitions(app)
        got, letters = RowsPlane(graph, deliveries, Path(directory), seed, 0.1).run_all()
    assert letters.to_pylist() == []
    for name in ("out", "o", "pairs"):
        found, wanted = ([repr(row) for row in own.to_pylist()] for own in (got[name], expected[name]))
        assert len(found) > 0.5 * len(wanted), name
        assert sorted(found) == sorted(wanted[: len(found)]), name


@pytest.mark.parametrize("seed", range(4))
def test_several_sources_of_several_partitions_are_merged_by_event_time(seed: int) -> None:
    rng, rows = random.Random(seed), events(200, seed)
    graph = in_partitions(windowed(ps.sources.csv("in"), 3.0, sources=2))
    halves = [[row for row in rows if row["n"] % 2 == i] for i in range(2)]
    expected = ps.evaluate(windowed(None, 3.0, sources=2), {f"s{i}": table_of(half) for i, half in enumerate(halves)})
    deliveries: list[Delivery] = []
    for start in range(0, 100, 10):
        delivery = {}
        for i in range(2):
            own = shuffled(halves[i][start : start + 10], 3.0, rng)
            delivery[f"s{i}"] = [table_of([r for r in own if r["n"] // 2 % 3 == p]) for p in range(3)]
        deliveries.append(delivery)
    with tempfile.TemporaryDirectory() as directory:
        got, letters = RowsPlane(graph, deliveries, Path(directory), seed, 0.1).run_all()
    assert letters.to_pylist() == []
    for name in ("out", "o"):
        assert by_key(got[name]) == by_key(expected[name].slice(0, got[name].num_rows)), name
        assert got[name].num_rows > 0.8 * expected[name].num_rows


def test_a_partition_that_falls_silent_holds_the_watermark_until_it_is_idle() -> None:
    rows = events(200, 1)
    deliveries: list[Delivery] = [
        {"s0": [table_of(rows[b * 20 + p : b * 20 + 20 : 2]) for p in range(2 if b < 3 else 1)]} for b in range(10)
    ]
    ends = {}
    for timeout_s in (None, 2.0):
        graph = in_partitions(windowed(ps.sources.csv("in"), 0.0, idle_timeout_s=timeout_s))
        with tempfile.TemporaryDirectory() as directory:
            plane = RowsPlane(graph, deliveries, Path(directory), 3)
            got, letters = plane.run_all()
        ends[timeout_s] = max(plain_rows(got["out"]), key=lambda row: row["end"])["end"] / 1e6
        assert letters.num_rows == 0
    assert ends == {None: 14.0, 2.0: 48.0}
    assert dict(plane.plans[-1].idle) == {"s0": (1,)}


def test_a_silent_source_holds_the_watermark_of_both_until_it_is_idle() -> None:
    rows = events(200, 1)
    deliveries: list[Delivery] = [
        {f"s{i}": [table_of(rows[b * 20 + i : b * 20 + 20 : 2])] for i in range(2 if b < 3 else 1)} for b in range(10)
    ]
    ends = {}
    for timeout_s in (None, 2.0):
        app = windowed(ps.sources.csv("in"), 0.0, sources=2, idle_timeout_s=timeout_s)
        with tempfile.TemporaryDirectory() as directory:
            got, letters = RowsPlane(app.graph, deliveries, Path(directory), 3, 0.1).run_all()
        ends[timeout_s] = max(plain_rows(got["out"]), key=lambda row: row["end"])["end"] / 1e6
        assert letters.num_rows == 0
    assert ends == {None: 14.0, 2.0: 48.0}


@pytest.mark.parametrize("kills", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_a_slower_source_without_a_bound_loses_nothing_beside_one_with_a_bound(seed: int, kills: float) -> None:
    def application(connector: Any) -> ps.Application:
        app = ps.Application("mixed")
        fast = app.source("fast", connector, SCHEMA, event_time="t", out_of_order_s=1.0, stamp="n")
        slow = app.source("slow", connector, SCHEMA, event_time="t", stamp="n")
        both = fast.union("both", slow)
        both.aggregate("bars", window=ps.tumbling(time_s=2, on="t"), by="k", emit=BARS).sink("out")
        near = ps.sliding(time_s=1.5, on="t")
        fast.join("j", slow, left_window=near, right_window=near, on="k",
                  emit={"a": "left.n", "b": "right.n"}).sink("pairs")  # fmt: skip
        return app

    rng, rows = random.Random(seed), events(240, seed)
    half = [dict(row, t=row["t"] / 2) for row in events(240, seed + 1)]  # by n, it is behind more and more
    expected = ps.evaluate(application(None), {"fast": table_of(rows), "slow": table_of(half)})
    assert expected.dead_letters.num_rows == 0
    deliveries: list[Delivery] = []
    for start in range(0, 240, 12):
        own, other = rows[start : start + 12], half[start : start + 12]
        deliveries.append({"fast": [table_of(shuffled(own, 1.0, rng))], "slow": [table_of(other)]})
    with tempfile.TemporaryDirectory() as directory:
        plane = RowsPlane(application(ps.sources.csv("in")).graph, deliveries, Path(directory), seed, kills)
        got, letters = plane.run_all()
    assert letters.to_pylist() == []
    for name in ("out", "pairs"):
        found, wanted = ([repr(row) for row in own.to_pylist()] for own in (got[name], expected[name]))
        assert sorted(found) == sorted(wanted[: len(found)]), name
    assert sum(got["out"]["n"].to_pylist()) > 320  # of 360 up to the watermark; in an evaluation a source ends
    assert plane.measured[-1].watermark_s == half[-1]["t"]


def test_the_watermark_of_each_batch_is_measured() -> None:
    rows = events(60, 1)
    deliveries: list[Delivery] = [
        {"s0": [table_of(rows[:20]), table_of([])]}, {"s0": [table_of([]), table_of(rows[20:40])]},
        {"s0": [table_of(rows[40:60]), table_of([])]},
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        plane = RowsPlane(in_partitions(windowed(ps.sources.csv("in"), 1.0)), deliveries, Path(directory))
        plane.run_all()
    assert [own.watermark_s for own in plane.measured] == [3.75, 3.75, 8.75]
