"""Time windows by key on several replicas: equal to the in-process engine whatever is changed or dies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.plan.elements.layout import layout_of
from tests.dataplane.test_graphs import assert_equal
from tests.dataplane.test_hot_keys import disordered
from tests.reference.streams import TRADES, plain, trades

PAIRS = {"key": "left.key", "a": "left.n", "b": "right.n", "word": "right.name"}


def median(values: pa.Array) -> float | None:
    """The middle value; fails on a lone NaN."""
    found = sorted(value for value in values.to_pylist() if value is not None)
    if len(found) == 1 and found[0] != found[0]:
        raise ValueError("nothing but NaN")
    return float(found[len(found) // 2]) if found else None


def joined(left: Any, right: Any) -> ps.Application:
    app = ps.Application("joined")
    one, two = app.source("trades", schema=TRADES).split("sides", {"one": "flag", "two": None})
    pairs = one.join("pairs", two, left_window=left, right_window=right, on="key", emit=PAIRS)
    pairs.sink("out")
    pairs.aggregate("counted", window=ps.sliding(count=3, per_group=True), by="key", emit={"n": "count()"}).sink("n")
    return app


def time_by_time() -> ps.Application:
    return joined(ps.sliding(time_s=2, on="t"), ps.sliding(time_s=3, on="t"))


def time_by_count() -> ps.Application:
    return joined(ps.sliding(time_s=2, on="x"), ps.sliding(count=2, per_group=True))


def where_there_is_more_than_a_key() -> ps.Application:
    app = ps.Application("filtered")
    source = app.source("trades", schema=TRADES)
    window, where = ps.sliding(time_s=4, on="t"), "left.n <= right.n"
    emit = {"a": "left.x", "b": "right.x", "c": "left.n + right.n"}
    pairs = source.join("pairs", source, left_window=window, right_window=window, on="key", where=where, emit=emit)
    pairs.functor("kept", where="c > 0", emit=[{"c": "c"}, {"c": "0 - c"}]).sink("out")
    return app


def bars_of_bars() -> ps.Application:
    app = ps.Application("bars")
    source = app.source("trades", schema=TRADES)
    twice = source.functor(
        "twice", emit=[{"key": "cast(key as string)", "n": "n", "t": "t"}, {"key": "name", "n": "0 - n", "t": "t"}]
    )
    emit = {"key": "any(key)", "n": "sum(n)", "first": "first(n)", "t": "window_end()"}
    bars = twice.aggregate("bars", window=ps.tumbling(time_s=1, on="t"), by="key", emit=emit)
    bars.sink("short")
    shift = bars.functor("sides", emit={"side": "n % 2", "n": "n", "t": "t"})
    emit = {"side": "any(side)", "n": "sum(n)", "list": "collect(n)"}
    shift.aggregate("again", window=ps.sliding(time_s=4, every_s=2, on="t"), by="side", emit=emit).sink("long")
    return app


def medians() -> ps.Application:
    app = ps.Application("medians")
    source = app.source("trades", schema=TRADES)
    functions = {"median": ps.aggregate_function(median, returns="float64")}
    source.aggregate(
        "medians", window=ps.tumbling(time_s=2, on="t"), by=["key", "name"],
        emit={"key": "any(key)", "m": "median(x)"}, functions=functions,
    ).sink("out")  # fmt: skip
    return app


MADE = [time_by_time, time_by_count, where_there_is_more_than_a_key, bars_of_bars, medians]


@pytest.mark.parametrize("make", MADE)
@given(table=trades(), seed=st.integers(0, 2**32), kills=st.sampled_from([0.0, 0.2]))
@settings(max_examples=8)
def test_by_key(make: Callable[[], ps.Application], table: pa.Table, seed: int, kills: float) -> None:
    graph = make().graph
    assert layout_of(graph).event_time_elements
    assert_equal(graph, {"trades": table}, seed, kills)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", MADE)
def test_longer_streams_by_key(make: Callable[[], ps.Application], seed: int) -> None:
    assert_equal(make().graph, {"trades": disordered(seed)}, seed, 0.1)


@given(tables=st.tuples(plain(), plain()), seed=st.integers(0, 2**32), kills=st.sampled_from([0.0, 0.2]))
def test_a_clock_of_several_sources(tables: tuple[pa.Table, pa.Table], seed: int, kills: float) -> None:
    app = ps.Application("merged")
    schema = {"k": "symbol", "x": "float64", "n": "int64", "s": "float64"}
    one, two = (app.source(f"source{i}", schema=schema, stamp="s") for i in range(2))
    emit = {"k": "any(k)", "x": "sum(x)", "n": "max(n)"}
    both = one.union("both", two)
    both.aggregate("bars", window=ps.sliding(time_s=2, every_s=1, on="s"), by="k", emit=emit).sink("out")
    window = ps.sliding(time_s=3, on="s")
    emit = {"a": "left.x", "b": "right.x"}
    one.join("pairs", two, left_window=window, right_window=window, on="k", emit=emit).sink("paired")
    assert len(layout_of(app.graph, ("bars", "pairs")).event_time_elements) == 2
    assert_equal(app.graph, {f"source{i}": table for i, table in enumerate(tables)}, seed, kills)


def test_results_that_meet_other_streams_are_numbered_by_one_replica() -> None:
    app = ps.Application("met")
    source = app.source("trades", schema=TRADES)
    bars = source.aggregate("bars", window=ps.tumbling(time_s=1, on="t"), by="key", emit={"n": "sum(n)"})
    bars.union("all", source.functor("plain", emit={"n": "n"})).sink("out")
    assert layout_of(app.graph).event_time_elements == ()
