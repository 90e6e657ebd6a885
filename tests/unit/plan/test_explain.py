"""Parallelism, keys, state and order of operators, from the plan alone."""

from __future__ import annotations

import json

import pytest

import penstock as ps
from penstock.app.windows import Window
from penstock.cli.demo.vwap import vwap, vwap_per_ticker
from penstock.plan.elements.fusion import fuse
from penstock.plan.elements.keys import origin
from penstock.plan.elements.parallelism import SLOTS, parallelism_of, parallelism_of_element
from penstock.plan.explain import explain
from penstock.plan.state_size import GroupBytes, row_bytes, state_of

SCHEMA = {"k": "symbol", "name": "string", "x": "float64", "t": "timestamp"}


def base() -> tuple[ps.Application, ps.Stream]:
    app = ps.Application("base")
    return app, app.source("s", schema=SCHEMA)


class Counter:
    def state(self) -> list[int]:
        return [0]

    def process(self, row: dict[str, object], state: list[int]) -> None:
        state[0] += 1


def add(stream: ps.Stream, kind: str) -> None:
    """One operator called 'o' of a kind."""
    emit = {"k": "any(k)", "total": "sum(x)"}
    match kind:
        case "functor":
            stream.functor("o", where="x > 0")
        case "numbering functor":
            stream.functor("o", emit={"n": "seq_num()"})
        case "map":
            stream.map("o", lambda block: block, schema=SCHEMA)
        case "per group":
            stream.aggregate("o", by="k", window=ps.sliding(count=4, per_group=True), emit=emit)
        case "grouped whole-stream window":
            stream.aggregate("o", by="k", window=ps.sliding(count=4), emit=emit)
        case "ungrouped":
            stream.aggregate("o", window=ps.sliding(count=4), emit=emit)
        case "time by key":
            stream.aggregate("o", by="k", window=ps.tumbling(time_s=60, on="t"), emit=emit)
        case "time with mcnt":
            window = ps.tumbling(time_s=60, on="t")
            stream.aggregate("o", by="k", window=window, emit={"k": "any(k)", "all": "mcnt()"})
        case "sort":
            stream.sort("o", "x", window=ps.tumbling(count=10))
        case "throttle":
            stream.throttle("o", 10)
        case "delay":
            stream.delay("o", 1.0)
        case "load":
            stream.load("o", 100)
        case "custom by key":
            stream.operator("o", Counter(), schema={"x": "int64"}, by="k")
        case "custom":
            stream.operator("o", Counter(), schema={"x": "int64"})
        case "sink":
            stream.sink("o")


@pytest.mark.parametrize(
    ("kind", "limit", "reason"),
    [
        ("functor", None, "processed independently"),
        ("numbering functor", 1, "seq_num()"),
        ("map", None, "any share of the tuples"),
        ("per group", SLOTS, "state is stored by k"),
        ("grouped whole-stream window", 1, "is over the whole stream, although results are grouped"),
        ("ungrouped", 1, "is over the whole stream"),
        ("time by key", SLOTS, "clock of the whole stream"),
        ("time with mcnt", 1, "mcnt() counts the tuples of all groups"),
        ("sort", 1, "sorting compares"),
        ("throttle", 1, "the one before it"),
        ("delay", None, "processed independently"),
        ("load", None, "processed independently"),
        ("custom by key", SLOTS, "state is stored by k"),
        ("custom", 1, "one state for the whole stream"),
        ("sink", 1, "one writer"),
    ],
)
def test_every_operator_has_a_highest_parallelism_and_a_reason(kind: str, limit: int | None, reason: str) -> None:
    app, stream = base()
    add(stream, kind)
    found = parallelism_of(app.graph.operator("o"))
    assert found.limit == limit
    assert reason in found.because


@pytest.mark.parametrize(
    ("window", "on", "limit"),
    [
        (ps.sliding(count=3, per_group=True), "k", SLOTS),
        (ps.sliding(time_s=5, on="t"), "k", SLOTS),
        (ps.sliding(count=3), "k", 1),
        (ps.sliding(time_s=5, on="t"), None, 1),
    ],
)
def test_a_join_is_parallel_where_key_and_windows_allow_it(window: Window, on: str | None, limit: int) -> None:
    app, left = base()
    right = app.source("r", schema=SCHEMA)
    left.join("o", right, on=on, left_window=window, right_window=window, emit={"k": "left.k"})
    assert parallelism_of(app.graph.operator("o")).limit == limit


def test_union_is_stateless_and_barrier_is_not() -> None:
    app, left = base()
    right = app.source("r", schema=SCHEMA)
    left.union("u", right)
    left.barrier("b", right, emit={"x": "s.x + r.x"})
    assert parallelism_of(app.graph.operator("u")).limit is None
    assert parallelism_of(app.graph.operator("b")).limit == 1


def test_an_element_is_as_parallel_as_its_least_parallel_operator() -> None:
    app = vwap_per_ticker()
    for name in ("trades", "window", "vwap"):
        app.request(name, partition="p")
    graph = app.graph
    found = parallelism_of_element(graph, fuse(graph).element_of("window"))
    assert found.limit == SLOTS
    assert found.because.startswith("window: state is stored by ticker")


def two_keyed(second_key: str) -> tuple[ps.Application, str]:
    """Two keyed operators in one element; the second goes by an attribute that was renamed on the way."""
    app, stream = base()
    first = stream.aggregate(
        "first",
        by=["k", "name"] if second_key == "x" else "k",
        window=ps.sliding(count=2, per_group=True),
        emit={"key": "any(k)", "x": "sum(x)"},
    )
    renamed = first.functor("renamed", emit={"key2": "key", "x": "x"})
    by = "key2" if second_key == "key" else "x"
    renamed.aggregate("second", by=by, window=ps.sliding(count=2, per_group=True), emit={"n": "count()"})
    for name in ("first", "renamed", "second"):
        app.request(name, partition="p")
    return app, "p"


def test_operators_keyed_by_one_attribute_under_two_names_share_an_element() -> None:
    graph = two_keyed("key")[0].graph
    assert origin(graph, "renamed", "key2") == ("s", "k")
    assert parallelism_of_element(graph, fuse(graph).element_of("second")).limit == SLOTS


def test_operators_keyed_differently_in_one_element_have_one_replica() -> None:
    graph = two_keyed("x")[0].graph
    found = parallelism_of_element(graph, fuse(graph).element_of("second"))
    assert (found.limit, "different keys" in found.because) == (1, True)


def test_a_keyed_join_and_what_follows_by_its_key_share_an_element() -> None:
    app, left = base()
    right = app.source("r", schema={"id": "symbol", "y": "float64"})
    window = ps.sliding(count=3, per_group=True)
    joined = left.join(
        "j", right, on=[("k", "id")], left_window=window, right_window=window, emit={"id": "id", "y": "y"}
    )
    joined.aggregate("a", by="id", window=window, emit={"id": "any(id)", "y": "sum(y)"})
    for name in ("j", "a"):
        app.request(name, partition="p")
    graph = app.graph
    assert parallelism_of_element(graph, fuse(graph).element_of("a")).limit == SLOTS


def test_state_is_asked_of_the_kernel_where_there_is_one_and_else_rows_times_width() -> None:
    graph = vwap_per_ticker().graph
    window = graph.operator("window")
    asked = state_of(graph, window, {"window": GroupBytes(72)})
    assert str(asked) == "72 bytes per key"
    assert asked.because == "in its compiled kernel"
    growing = state_of(graph, window, {"window": GroupBytes(8_096, 96, 8, 1, 8)})
    assert str(growing) == "8,096 bytes per key"
    assert growing.because == (
        "96 for a key, and 8 to 10 for each tuple that it holds, at least 8 of these; 8,096 once its window is full"
    )
    assert state_of(graph, window).because == "4 tuples x (24 bytes a tuple + 8)"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("functor", "none"),
        ("numbering functor", "8 bytes in all"),
        ("grouped whole-stream window", "64 bytes in all"),
        ("time by key", "24 bytes per key"),
        ("sort", "440 bytes in all"),
        ("custom by key", "depends on the stream"),
        ("delay", "depends on the stream"),
    ],
)
def test_state_of_other_operators(kind: str, text: str) -> None:
    app, stream = base()
    add(stream, kind)
    assert str(state_of(app.graph, app.graph.operator("o"))) == text


@pytest.mark.parametrize("call", ["collect(x)", "count_distinct(x)", "max(name)"])
def test_a_time_window_that_needs_its_tuples_says_that_it_keeps_them(call: str) -> None:
    app, stream = base()
    stream.aggregate("o", by="k", window=ps.sliding(time_s=60, every_s=1, on="t"), emit={"y": call})
    state = state_of(app.graph, app.graph.operator("o"))
    assert state.size_bytes is None
    assert state.because.startswith("the tuples of its window")


def test_state_of_a_join_names_both_sides_and_the_guess_for_strings() -> None:
    app, left = base()
    window = ps.sliding(count=3, per_group=True)
    left.join("o", left, on="k", left_window=window, right_window=window, emit={"k": "left.k"})
    state = state_of(app.graph, app.graph.operator("o"))
    assert state.size_bytes == 2 * 3 * (row_bytes(app.graph.operator("s").schema) + 8)
    assert "strings guessed at 16" in state.because


def test_an_explanation_says_everything_and_is_json() -> None:
    found = explain(vwap().graph)
    window = next(o for o in found.operators if o.name == "window")
    assert (window.kind, window.windows, window.order) == (
        "aggregate",
        ("sliding count 4 every 1",),
        "the whole stream",
    )
    assert found.edges[0] == ("quotes", "quotes", "trades")
    assert json.loads(json.dumps(found.as_json()))["operators"][2]["parallelism"]["limit"] == 1


def test_order_names_positions_only_where_streams_are_merged_further_on() -> None:
    app, left = base()
    right = app.source("r", schema=SCHEMA)
    left.functor("f").union("u", right).sink("out")
    orders = {o.name: o.order for o in explain(app.graph).operators}
    assert orders["f"] == "any; tuples carry positions, since they are merged further on"
    assert orders["u"] == "all inputs, merged in order"
    assert orders["out"] == "the whole stream"
