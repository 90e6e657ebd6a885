"""Aggregates over every kind of window equal the oracle, however the stream is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.app.windows import Window
from tests.reference.checking import check
from tests.reference.streams import TRADES, trades

NUMBERS = {
    "key": "any(key)", "low": "min(x)", "high": "max(x)", "total": "sum(x)", "mean": "avg(x)", "tuples": "count()",
    "known": "count(x)", "all": "mcnt()", "first": "first(x)", "last": "last(n)", "spread": "stddev(x)",
    "sum": "sum(n)", "top": "max(u)", "range": "max(x) - min(x)", "some": "any(n)",
}  # fmt: skip
ROWS = {
    "key": "first(key)", "names": "collect(name)", "kinds": "count_distinct(x)", "low": "min(name)", "high": "max(key)",
    "words": "count_distinct(name)", "known": "count(name)", "newest": "last(name)", "half": "middle(x)",
    "mean": "avg(n)", "total": "sum(x)", "sum": "sum(u)", "all": "mcnt()", "flag": "last(flag)", "spread": "stddev(n)",
    "some": "any(name)",
}  # fmt: skip


def middle(values: pa.Array) -> float | None:
    """A user's aggregate: the value in the middle, by age."""
    return values[len(values) // 2].as_py()  # type: ignore[no-any-return]


def application(window: Window, emit: dict[str, str], by: str | None, punctuate: str | None = None) -> ps.Application:
    app = ps.Application("windows")
    stream = app.source("trades", schema=TRADES)
    if punctuate is not None:
        stream = stream.punctor("marks", punctuate)
    functions = {"middle": ps.aggregate_function(middle, "float64")} if "middle" in str(emit) else None
    stream.aggregate("window", window=window, by=by, emit=emit, functions=functions).sink("out")
    return app


COUNT_WINDOWS = [
    (ps.sliding(count=1, per_group=True), "key"),
    (ps.sliding(count=4, every=1, per_group=True), "key"),
    (ps.sliding(count=10, every=3, per_group=True), "n"),
    (ps.sliding(count=33, every=2, per_group=True), "x"),
    (ps.sliding(count=17, every=7), None),
    (ps.tumbling(count=2, per_group=True), "name"),
    (ps.tumbling(count=10), None),
]


@pytest.mark.parametrize(("window", "by"), COUNT_WINDOWS, ids=str)
@given(table=trades(), data=st.data())
def test_count_windows_with_their_kernel(window: Window, by: str | None, table: pa.Table, data: st.DataObject) -> None:
    emit = {**NUMBERS, "key": f"any({by})"} if by else {k: v for k, v in NUMBERS.items() if k != "key"}
    check(application(window, emit, by), {"trades": table}, data)


sizes = st.sampled_from([1, 2, 4, 10, 17, 33])
every = st.sampled_from([1, 2, 3, 7])
keys = st.sampled_from(["key", "name", "x", "n", "flag"])


@st.composite
def held_windows(draw: st.DrawFn, *, per_group: bool) -> Window:
    """Windows by count, delta and time of any size."""
    measure: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"count": draw(sizes)},
                {"delta": draw(sizes) / 2, "on": draw(st.sampled_from("xnu"))},
                {"delta": 0.5, "on": "t"},
            ]
        )
    )
    if draw(st.booleans()):
        return ps.tumbling(**measure, per_group=per_group)
    return ps.sliding(**measure, every=draw(every), per_group=per_group)


@given(table=trades(), data=st.data())
def test_windows_of_groups_that_hold_rows(table: pa.Table, data: st.DataObject) -> None:
    window, by = data.draw(held_windows(per_group=True)), data.draw(keys)
    check(application(window, {**ROWS, "key": f"any({by})"}, by), {"trades": table}, data)


@given(table=trades(), data=st.data())
def test_whole_stream_windows_with_groups(table: pa.Table, data: st.DataObject) -> None:
    window, by = data.draw(held_windows(per_group=False)), data.draw(keys)
    check(application(window, {**ROWS, "key": f"any({by})"}, by), {"trades": table}, data)


@given(table=trades(), data=st.data())
def test_whole_stream_windows_without_groups(table: pa.Table, data: st.DataObject) -> None:
    check(application(data.draw(held_windows(per_group=False)), ROWS, None), {"trades": table}, data)


@st.composite
def time_windows(draw: st.DrawFn) -> Window:
    step, panes = draw(st.sampled_from([0.25, 0.5, 1.0, 3.0])), draw(st.sampled_from([1, 2, 3, 7]))
    per_group = draw(st.booleans())
    if draw(st.booleans()):
        return ps.tumbling(time_s=step, on="t", per_group=per_group)
    return ps.sliding(time_s=step * panes, every_s=step, on="t", per_group=per_group)


# few calls: a time window's kernel takes seconds to compile, and has tests of its own
FEW = {"key": "any(key)", "low": "min(x)", "first": "first(x)", "last": "last(n)", "mean": "avg(n)", "all": "mcnt()"}
BOUNDS = {"start": "window_start()", "end": "window_end()"}


@pytest.mark.parametrize("emit", [FEW, ROWS], ids=["kernel", "rows"])
@given(table=trades(), data=st.data())
def test_time_windows(emit: dict[str, str], table: pa.Table, data: st.DataObject) -> None:
    by = data.draw(keys)
    check(application(data.draw(time_windows()), {**emit, **BOUNDS, "key": f"any({by})"}, by), {"trades": table}, data)


@given(table=trades(), data=st.data())
def test_time_windows_without_groups_on_seconds(table: pa.Table, data: st.DataObject) -> None:
    app = ps.Application("seconds")
    on = data.draw(st.sampled_from("xnu"))  # they jump back and forth, are null, NaN, infinite and too large
    window = ps.sliding(time_s=20, every_s=5, on=on)
    emit = {"total": "sum(n)", "end": "window_end()", "tuples": "mcnt()"}
    app.source("trades", schema=TRADES).aggregate("window", window=window, emit=emit).sink("out")
    check(app, {"trades": table}, data)


@st.composite
def punctuation_windows(draw: st.DrawFn) -> Window:
    per_group = draw(st.booleans())
    if draw(st.booleans()):
        return ps.tumbling(punctuation=True, per_group=per_group)
    return ps.sliding(punctuation=draw(st.integers(1, 4)), every=draw(every), per_group=per_group)


@given(table=trades(), data=st.data())
def test_punctuation_windows(table: pa.Table, data: st.DataObject) -> None:
    by, when = data.draw(keys), data.draw(st.sampled_from(["flag", "n > 0", "x is null", "true"]))
    check(
        application(data.draw(punctuation_windows()), {**ROWS, "key": f"any({by})"}, by, when), {"trades": table}, data
    )


@given(rows=st.lists(st.tuples(st.integers(0, 2), st.floats(-1e9, 1e9)), max_size=80), data=st.data())
def test_sums_of_any_floats_are_near_and_equal_to_the_bit(rows: list[tuple[int, float]], data: st.DataObject) -> None:
    app = ps.Application("sums")
    stream = app.source("numbers", schema={"k": "int64", "x": "float64", "t": "float64"})
    emit = {"total": "sum(x)", "mean": "avg(x)", "spread": "stddev(x)"}
    stream.aggregate("by_count", window=ps.sliding(count=10, every=3, per_group=True), by="k", emit=emit).sink(
        "counted"
    )
    stream.aggregate("by_time", window=ps.sliding(time_s=9, every_s=1, on="t"), by="k", emit=emit).sink("timed")
    stream.aggregate("by_delta", window=ps.sliding(delta=7, on="t"), by="k", emit=emit).sink("near")
    columns = {"k": [k for k, _ in rows], "x": [x for _, x in rows], "t": np.arange(len(rows)) / 3}
    check(app, {"numbers": pa.table(columns, pa.schema({"k": pa.int64(), "x": pa.float64(), "t": pa.float64()}))}, data)


def fails_on_negative(values: pa.Array) -> float:
    if any(v is not None and v < 0 for v in values.to_pylist()):
        raise ValueError("a negative one")
    return float(len(values))


@given(table=trades(odd=False), data=st.data())
def test_results_on_which_a_users_aggregate_fails_are_dead_letters(table: pa.Table, data: st.DataObject) -> None:
    app = ps.Application("failing")
    app.source("trades", schema=TRADES).aggregate(
        "window", window=data.draw(held_windows(per_group=False)), by="key",
        emit={"key": "any(key)", "checked": "checked(x)"},
        functions={"checked": ps.aggregate_function(fails_on_negative, "float64")},
    ).sink("out")  # fmt: skip
    check(app, {"trades": table}, data)
