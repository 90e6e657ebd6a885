"""Operators on one stream equal the oracle: functors, sorts, and those that call the user's Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from tests.reference.checking import check
from tests.reference.streams import PLAIN, TRADES, plain, trades


def application(*, schema: dict[str, str] | None = None) -> tuple[ps.Application, ps.Stream]:
    app = ps.Application("functions")
    return app, app.source("trades", schema=schema or TRADES)


FUNCTORS: list[tuple[str | None, Any]] = [
    (None, None),
    ("x > 0 and flag", {"number": "seq_num()", "twice": "2 * x", "key": "key", "sum": "n + 1"}),
    ("n < 0 or name = 'ü'", [{"name": "name", "n": "n"}, {"name": "cast(key as string)", "n": "seq_num()"}]),
    ("x is not null", [{"x": "x / 4", "t": "t"}, {"x": "coalesce(x, 0.0)", "t": "t"}, {"x": "-x", "t": "t"}]),
]


@pytest.mark.parametrize(("where", "emit"), FUNCTORS)
@given(table=trades(), data=st.data())
def test_functors(where: str | None, emit: Any, table: pa.Table, data: st.DataObject) -> None:
    app, stream = application()
    stream.functor("work", where=where, emit=emit).sink("out")
    check(app, {"trades": table}, data)


SORT_WINDOWS = [
    ps.sliding(count=1),
    ps.sliding(count=5),
    ps.tumbling(count=4),
    ps.tumbling(time_s=2, on="t"),
    ps.tumbling(delta=9, on="n"),
    ps.tumbling(punctuation=True),
]


@given(table=trades(), data=st.data())
def test_sorts(table: pa.Table, data: st.DataObject) -> None:
    keys = st.sampled_from(["x", "x desc", "key", "name desc", "n desc", "flag", "t", "u"])
    by = data.draw(st.lists(keys, min_size=1, max_size=3, unique_by=lambda word: word.split()[0]))
    app, stream = application()
    stream.punctor("marks", "flag").sort("sorted", by, window=data.draw(st.sampled_from(SORT_WINDOWS))).sink("out")
    check(app, {"trades": table}, data)


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch({"name": batch["name"], "y": pc.multiply(batch["x"], 2.0)})


def positive_twice(batch: pa.RecordBatch) -> pa.Table:
    """Drops rows and repeats others, and tells where each came from."""
    numbers = [i for i, n in enumerate(batch["n"].to_pylist()) if n is not None and n > 0 for _ in range(2)]
    taken = batch.take(pa.array(numbers, pa.int64()))
    return pa.table({"name": taken["name"], "y": taken["x"], "input_row": pa.array(numbers, pa.int64())})


def refuses_negative(batch: pa.RecordBatch) -> pa.RecordBatch:
    if any(n is not None and n < 0 for n in batch["n"].to_pylist()):
        raise ValueError("a negative one")
    return doubled(batch)


@pytest.mark.parametrize("function", [doubled, positive_twice, refuses_negative])
@given(table=trades(), data=st.data())
def test_functions_on_blocks(function: Any, table: pa.Table, data: st.DataObject) -> None:
    app, stream = application()
    marked = stream.punctor("marks", "flag").map("mapped", function, {"name": "string", "y": "float64"})
    marked.aggregate("segments", window=ps.tumbling(punctuation=True), emit={"names": "collect(name)"}).sink("out")
    check(app, {"trades": table}, data, taps=["mapped"])


def letters(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """As many tuples as its name has letters; fails in the middle of long ones."""
    for number, letter in enumerate(row["name"]):
        if number == 1:
            raise KeyError(letter)
        yield {"letter": letter, "t": row["t"], "extra": 1}


def one_or_none(row: dict[str, Any]) -> dict[str, Any] | None:
    return {"letter": row["key"], "t": row["t"]} if row["flag"] else None


@pytest.mark.parametrize("function", [letters, one_or_none])
@given(table=trades(), data=st.data())
def test_functions_on_tuples(function: Any, table: pa.Table, data: st.DataObject) -> None:
    app, stream = application()
    stream.map("mapped", function, {"letter": "symbol", "t": "timestamp"}, per_tuple=True).sink("out")
    check(app, {"trades": table}, data)


class Running:
    """A user-defined operator: numbers the tuples of its key, forgets odd ones and fails at the seventh."""

    def state(self) -> list[float]:
        return []

    def process(self, row: dict[str, Any], state: list[float]) -> dict[str, Any] | None:
        state.append(row["x"] or 0.0)
        if len(state) == 7:
            raise RuntimeError("seven are enough")
        return None if len(state) % 2 else {"number": len(state), "first": state[0], "name": row["name"]}


@given(table=trades(), data=st.data())
def test_operators_of_the_users_own(table: pa.Table, data: st.DataObject) -> None:
    by = data.draw(st.sampled_from([None, "key", "x", ["flag", "n"]]))
    app, stream = application()
    schema = {"number": "int64", "first": "float64", "name": "string"}
    stream.operator("own", Running(), schema=schema, by=by).sink("out")
    check(app, {"trades": table}, data)


@given(one=plain(odd=True), two=plain(odd=True), three=plain(odd=True), data=st.data())
def test_barriers_of_three_streams(one: pa.Table, two: pa.Table, three: pa.Table, data: st.DataObject) -> None:
    app = ps.Application("barriers")
    streams = [app.source(name, schema=PLAIN, stamp="s") for name in ("one", "two", "three")]
    late = streams[1].delay("late", 2.0).functor("passed", where="n > -2")
    emit = {"a": "one.x", "b": "passed.n + three.n", "c": "three.k"}
    both = streams[0].barrier("met", late, streams[2], emit=emit)
    again = streams[0].functor("again", emit={"a": "x", "b": "n", "c": "k"})
    both.union("all", again).sink("out")
    check(app, {"one": one, "two": two, "three": three}, data)
