"""Operators that hold rows let go of those they no longer need, and nobody notices."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.app.windows import Window
from penstock.element.engine import Engine
from penstock.operators.windows import join_store, row_windows
from tests.reference.checking import check
from tests.reference.streams import PLAIN, TRADES, plain, trades

WINDOWS = [
    ps.sliding(count=3, every=2),
    ps.sliding(count=2, per_group=True),
    ps.tumbling(count=4),
    ps.sliding(delta=30, on="x"),
    ps.tumbling(delta=30, on="x", per_group=True),
    ps.sliding(time_s=2, every_s=1, on="t"),
]
JOIN_WINDOWS = [ps.sliding(count=2), ps.sliding(count=1, per_group=True), ps.sliding(time_s=2, on="s")]


@pytest.fixture(autouse=True, scope="module")
def _compact_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_windows, "_COMPACT_ABOVE_ROWS", 1)
        patch.setattr(join_store, "_COMPACT_ABOVE_ROWS", 1)
        yield


@given(table=trades(), window=st.sampled_from(WINDOWS), data=st.data())
def test_windows_that_compact_at_every_block(table: pa.Table, window: Window, data: st.DataObject) -> None:
    app = ps.Application("compacting")
    emit = {"names": "collect(name)", "keys": "count_distinct(key)", "x": "sum(x)"}
    marked = app.source("trades", schema=TRADES).punctor("marks", "flag")
    marked.aggregate("window", window=window, by="key", emit=emit).sink("out")
    marked.aggregate("segments", window=ps.sliding(punctuation=2), by="key", emit=emit).sink("segmented")
    marked.sort("sorted", "x", window=ps.tumbling(count=3)).sink("in_order")
    check(app, {"trades": table}, data)


@given(one=plain(odd=True), two=plain(odd=True), data=st.data())
def test_joins_that_compact_at_every_block(one: pa.Table, two: pa.Table, data: st.DataObject) -> None:
    app = ps.Application("compacting")
    left, right = app.source("one", schema=PLAIN, stamp="s"), app.source("two", schema=PLAIN, stamp="s")
    windows = st.sampled_from(JOIN_WINDOWS)
    emit = {"k": "left.k", "one": "left.x", "two": "right.x"}
    joined = left.join(
        "pairs", right, left_window=data.draw(windows), right_window=data.draw(windows), on="k", emit=emit
    )
    joined.sink("out")
    check(app, {"one": one, "two": two}, data)


def test_what_is_held_does_not_grow_with_the_stream() -> None:
    app = ps.Application("bounded")
    stream = app.source("trades", schema={"k": "int64", "x": "float64"}, rate_tuples_s=100)
    emit = {"all": "collect(x)"}
    stream.aggregate("window", window=ps.sliding(count=5), by="k", emit=emit).sink("out")
    stream.sort("sorted", "x", window=ps.sliding(count=5)).sink("in_order")
    five = ps.sliding(count=5)
    stream.join("pairs", stream, left_window=five, right_window=five, on="k", emit={"x": "left.x"}).sink("paired")
    engine = Engine(app.graph, block_rows=64)
    sizes = []
    for start in range(0, 6400, 640):
        numbers = range(start, start + 640)
        engine.feed({"trades": pa.table({"k": [n % 3 for n in numbers], "x": [float(n % 7) for n in numbers]})})
        sizes.append(sum(engine.state_bytes.values()))
    assert max(sizes) < 2 * sizes[1]
