"""Event time: windows and joins over streams that come out of order, equal to the reference in plain Python."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.block.schema import schema_of
from tests.reference.checking import assert_same_bits, check, evaluated, table_of
from tests.reference.events import Row
from tests.reference.streams import TRADES, plain, trades

bounds = st.sampled_from([0.0, 0.4, 1.0, 2.5])
ends = st.sampled_from(["hold", "fire"])
NUMBERS = {"key": "any(key)", "end": "window_end()", "n": "count()", "s": "sum(x)", "f": "first(n)", "l": "last(n)"}
LISTS = {"end": "window_end()", "all": "collect(x)", "some": "any(name)", "different": "count_distinct(n)"}
PAIRS = {"key": "left.key", "a": "left.n", "b": "right.n", "at": "left.t", "to": "right.t"}


def source(app: ps.Application, bound: float, name: str = "trades", late: Any = "dead_letter") -> ps.Stream:
    return app.source(name, schema=TRADES, event_time="t", out_of_order_s=bound, late=late)


def aggregate(emit: dict[str, str], window: Any, by: Any = None) -> Callable[[float], ps.Application]:
    def make(bound: float) -> ps.Application:
        app = ps.Application("windows")
        source(app, bound).functor("kept", where="n <> 1").aggregate("w", window=window, by=by, emit=emit).sink("out")
        return app

    return make


def sorted_by_name(bound: float) -> ps.Application:
    app = ps.Application("sorted")
    source(app, bound).sort("s", ["name", "x desc"], window=ps.tumbling(time_s=2, on="t")).sink("out")
    return app


def joined(bound: float) -> ps.Application:
    app = ps.Application("joined")
    one, two = source(app, bound).split("sides", {"one": "flag", "two": None})
    windows = {"left_window": ps.sliding(time_s=2, on="t"), "right_window": ps.sliding(time_s=1, on="t")}
    one.join("pairs", two, **windows, on="key", where="left.n <= right.n", emit=PAIRS).sink("out")
    one.join("all", two, **windows, emit=PAIRS).sink("without")
    return app


def joined_with_itself(bound: float) -> ps.Application:
    app = ps.Application("twice")
    own, window = source(app, bound), ps.sliding(time_s=2, on="t")
    own.join("pairs", own, left_window=window, right_window=window, on="key", emit=PAIRS).sink("out")
    return app


def chained(bound: float) -> ps.Application:
    app = ps.Application("chained")
    twice = source(app, bound).functor(
        "twice", emit=[{"key": "cast(key as string)", "n": "n", "t": "t"}, {"key": "name", "n": "0 - n", "t": "t"}]
    )
    emit = {"key": "any(key)", "n": "sum(n)", "start": "window_start()", "t": "window_end()", "last": "max(t)"}
    bars = twice.aggregate("bars", window=ps.tumbling(time_s=1, on="t"), by="key", emit=emit)
    bars.sink("short")
    for place, on in enumerate(("start", "t", "last")):
        more = {"side": "any(n) % 2", "n": "sum(n)", "list": "collect(n)", "t": "window_end()"}
        long = bars.aggregate(f"long{place}", window=ps.sliding(time_s=4, every_s=2, on=on), by="key", emit=more)
        long.sink(f"out{place}")
    long.sort("last", "n", window=ps.tumbling(time_s=5, on="t")).sink("sorted")
    pairs = bars.join(
        "pairs", twice, left_window=ps.sliding(time_s=2, on="t"), right_window=ps.sliding(time_s=1, on="t"), on="key",
        emit={"a": "left.n", "b": "right.n", "t": "right.t"},
    )  # fmt: skip
    pairs.sink("paired")
    pairs.aggregate("counted", window=ps.tumbling(time_s=1, on="t"), emit={"n": "count()", "a": "sum(a)"}).sink("n")
    return app


def merged_with_others(bound: float) -> ps.Application:
    app = ps.Application("merged")
    own = source(app, bound)
    bars = own.aggregate("bars", window=ps.tumbling(time_s=1, on="t"), by="key", emit={"n": "sum(n)"})
    others = own.aggregate("others", window=ps.sliding(time_s=2, every_s=1, on="t"), emit={"n": "count()"})
    both = bars.union("both", others, own.functor("plain", emit={"n": "n"}))
    both.aggregate("counted", window=ps.sliding(count=3), emit={"all": "collect(n)"}).sink("out")
    return app


KERNEL, HELD = ps.sliding(time_s=2, every_s=1, on="t"), ps.sliding(time_s=3, every_s=1.5, on="t")
MADE = {
    "sliding by key": aggregate(NUMBERS, KERNEL, "key"),
    "tumbling by keys": aggregate(NUMBERS, ps.tumbling(time_s=1, on="t"), ["key", "name"]),
    "whole stream": aggregate({"end": "window_end()", "n": "mcnt()", "s": "sum(x)"}, KERNEL),
    "counts of all groups": aggregate({"key": "any(key)", "n": "mcnt()", "own": "count()"}, KERNEL, "key"),
    "rows by key": aggregate(LISTS, HELD, "key"),
    "rows of the stream": aggregate({**LISTS, "m": "mcnt()"}, ps.tumbling(time_s=2, on="t"), None),
    "sorted": sorted_by_name,
    "joined": joined,
    "joined with itself": joined_with_itself,
    "chained": chained,
    "merged": merged_with_others,
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())
@given(table=trades(), bound=bounds, at_end=ends, data=st.data())
def test_streams_that_come_out_of_order(
    make: Callable[[float], ps.Application], table: pa.Table, bound: float, at_end: Any, data: st.DataObject
) -> None:
    check(make(bound), {"trades": table}, data, at_end=at_end)


@given(
    tables=st.tuples(plain(odd=True), plain(), plain()), bounds=st.tuples(bounds, bounds | st.none()), at_end=ends,
    data=st.data(),
)  # fmt: skip
def test_the_lowest_of_several_sources(
    tables: tuple[pa.Table, ...], bounds: tuple[float, float | None], at_end: Any, data: st.DataObject
) -> None:
    app = ps.Application("several")
    schema = {"k": "symbol", "x": "float64", "n": "int64", "s": "float64"}
    one = app.source("source0", schema=schema, event_time="s", out_of_order_s=bounds[0])
    two = app.source("source1", schema=schema, event_time="s", out_of_order_s=bounds[1])
    alone = app.source("source2", schema=schema, event_time="s", out_of_order_s=1)
    emit = {"k": "any(k)", "x": "sum(x)", "n": "max(n)", "all": "collect(n)"}
    window = ps.sliding(time_s=2, every_s=1, on="s")
    one.union("both", two).aggregate("bars", window=window, by="k", emit=emit).sink("out")
    window = ps.sliding(time_s=3, on="s")
    emit_pairs = {"a": "left.x", "b": "right.x"}
    one.join("pairs", two, left_window=window, right_window=window, on="k", emit=emit_pairs).sink("paired")
    alone.aggregate("others", window=ps.tumbling(time_s=2, on="s"), by="k", emit=emit).sink("rest")
    check(app, {f"source{i}": table for i, table in enumerate(tables)}, data, at_end=at_end)


@given(
    tables=st.tuples(plain(), plain(), plain()), bound=bounds, stamp=st.sampled_from(["s", "n"]), at_end=ends,
    data=st.data(),
)  # fmt: skip
def test_sources_without_a_bound_behind_windows_and_joins_that_no_watermark_fires(
    tables: tuple[pa.Table, ...], bound: float, stamp: str, at_end: Any, data: st.DataObject
) -> None:
    app = ps.Application("mixed")
    schema = {"k": "symbol", "x": "float64", "n": "int64", "s": "float64"}
    bounded = app.source("source0", schema=schema, event_time="s", out_of_order_s=bound, stamp="s")
    one, two = (app.source(f"source{i}", schema=schema, event_time="s", stamp=stamp) for i in (1, 2))
    near = ps.sliding(time_s=1, on="s")
    own = one.aggregate("own", window=near, by="k", emit={"k": "any(k)", "n": "max(n)", "s": "min(s)"})
    own.sink("short")
    pairs = one.join("own_pairs", two, left_window=near, right_window=near, on="k",
                     emit={"k": "left.k", "n": "right.n", "s": "left.s"})  # fmt: skip
    emit, tumbling = {"k": "any(k)", "n": "sum(n)", "all": "collect(s)"}, ps.tumbling(time_s=2, on="s")
    some = bounded.functor("some", emit={"k": "k", "n": "n", "s": "s"})
    for name, stream in (("bars", own), ("paired", pairs)):
        some.union(f"{name}_all", stream).aggregate(name, window=tumbling, by="k", emit=emit).sink(f"{name}_out")
    check(app, {f"source{i}": table for i, table in enumerate(tables)}, data, at_end=at_end)


@pytest.mark.parametrize("make", [make for name, make in MADE.items() if name != "merged"])
@given(table=trades(odd=False), data=st.data())
def test_any_order_within_the_bound_gives_the_same_results(
    make: Callable[[float], ps.Application], table: pa.Table, data: st.DataObject
) -> None:
    rows = [row | {"t": 250_000 * place + place} for place, row in enumerate(rows_of(table))]
    moved = sorted(rows, key=lambda row: row["t"] + data.draw(st.integers(0, 1_000_000)))
    graph = make(1.0).graph
    tables = [{"trades": table_of(given, schema_of(TRADES))} for given in (rows, moved)]
    in_turn, shuffled = (evaluated(graph, own, 8192, at_end="fire") for own in tables)
    assert not shuffled[1]
    assert_same_bits(shuffled, in_turn)


def rows_of(table: pa.Table) -> list[Row]:
    return [{**row, "t": 0} for row in table.to_pylist()]


LONG = {"key": "any(key)", "n": "count()", "s": "sum(x)", "f": "first(n)", "l": "last(x)", "c": "count(x)"}
WINDOWS = [
    ps.tumbling(count=3), ps.tumbling(count=4, per_group=True), ps.sliding(count=3), ps.tumbling(delta=2, on="x"),
    ps.tumbling(delta=2, on="x", per_group=True), ps.sliding(time_s=2, every_s=1, on="t"),
    ps.tumbling(time_s=2, on="t"),
]  # fmt: skip


@pytest.mark.parametrize("emit", [LONG, {**LONG, "all": "collect(n)"}, {"name": "collect(name)"}])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
@given(table=trades(), data=st.data(), by=st.sampled_from(["key", None]))
def test_windows_fire_what_they_hold_at_the_end(
    window: Any, emit: dict[str, str], table: pa.Table, by: str | None, data: st.DataObject
) -> None:
    app = ps.Application("ends")
    trades = app.source("trades", schema=TRADES)
    by = "key" if window.per_group else by
    first = trades.aggregate("first", window=window, by=by, emit=emit)
    first.sink("out")
    first.aggregate("second", window=ps.tumbling(count=3), emit={"n": "count()"}).sort(
        "third", "n", window=ps.sliding(count=2)
    ).sink("last")
    first.union("both", first).sink("twice")
    check(app, {"trades": table}, data, at_end="fire")


@given(table=trades(), data=st.data())
def test_punctuated_and_sorted_windows_fire_what_they_hold_at_the_end(table: pa.Table, data: st.DataObject) -> None:
    app = ps.Application("ends")
    trades = app.source("trades", schema=TRADES).punctor("marks", "n > 1")
    trades.aggregate("marked", window=ps.tumbling(punctuation=True), by="key", emit={"n": "count()"}).sink("out")
    trades.aggregate("slid", window=ps.sliding(punctuation=2), emit={"n": "count()"}).sink("slid_out")
    for number, window in enumerate([ps.tumbling(count=4), ps.sliding(count=3), ps.tumbling(punctuation=True)]):
        trades.sort(f"sorted{number}", "n", window=window).sink(f"sorted_{number}")
    check(app, {"trades": table}, data, at_end="fire")


def test_times_that_are_none_make_dead_letters_and_no_warnings_of_numpy() -> None:
    wrong = [None, math.nan, math.inf, -math.inf, 1.5e308, -1e300]
    app = ps.Application("windows")
    trades = app.source("trades", schema={"t": "float64"}, event_time="t", out_of_order_s=1)
    trades.aggregate("w", window=ps.tumbling(time_s=1, on="t"), emit={"n": "count()"}).sink("out")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ps.evaluate(app, {"trades": {"t": [0.5, *wrong, 0.7]}}, at_end="fire")
    assert result["out"].to_pylist() == [{"n": 2}]
    assert len(result.dead_letters) == len(wrong)
