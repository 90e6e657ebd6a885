"""Every mistake of an application is said in one sentence with operator, file and line, all of them together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.app.windows import Window

SCHEMA = {"ticker": "symbol", "price": "float64", "volume": "int64", "at": "timestamp", "note": "string"}
COUNT = ps.sliding(count=2)


def mistakes(write: Callable[[ps.Application, ps.Stream], Any]) -> list[str]:
    app = ps.Application("wrong")
    write(app, app.source("quotes", schema=SCHEMA))
    return [str(problem) for problem in app.problems]


SENTENCES: list[tuple[Callable[[ps.Application, ps.Stream], Any], str]] = [
    (lambda a, q: q.functor("", where="true"), "needs a name of its own; got ''"),
    (lambda a, q: q.functor("a.b"), "has a dot in its name, which is reserved for the outputs of splits; got 'a.b'"),
    (lambda a, q: q.functor("quotes"), "has the name of another operator (the source at test_problems.py:"),
    (
        lambda a, q: q.functor("f", emit={}),
        "needs emit={'attribute': 'expression', ...} with at least one attribute; got {}",
    ),
    (lambda a, q: q.functor("f", emit=[]), "needs at least one emit; got an empty list"),
    (lambda a, q: q.functor("f", emit=5), "with at least one attribute; got 5"),  # type: ignore[arg-type]
    (lambda a, q: q.functor("f", emit={"x": None}), "takes an expression as text for emit 'x'; got None"),  # type: ignore[dict-item]
    (lambda a, q: q.functor("f", emit={"x": "price +"}), "has a mistake in emit 'x' `price +`"),
    (
        lambda a, q: q.functor("f", emit={"x": "pric"}),
        "reads 'pric', which its input does not have; it has: ticker, price",
    ),
    (lambda a, q: q.functor("f", emit={"x": "pric"}), "did you mean 'price'?"),
    (
        lambda a, q: q.functor("f", where="price"),
        "needs a condition as where; got `price`, which is a float64; compare it",
    ),
    (
        lambda a, q: q.functor("f", emit=[{"a": "price"}, {"b": "price"}]),
        "emits tuples of different schemas: (a float64) and (b float64); use cast(x as type)",
    ),
    (lambda a, q: q.split("s"), "needs at least one branch; split('name', {'cheap': 'price < 10', 'rest': None})"),
    (
        lambda a, q: q.split("s", {"b": "seq_num() > 1"}),
        "calls seq_num in branch 'b' `seq_num() > 1`, which only a functor can",
    ),
    (lambda a, q: q.union("u"), "merges streams and needs at least one more; stream.union('name', other)"),
    (
        lambda a, q: q.union("u", q.functor("f", emit={"x": "price"})),
        "whose schemas differ: (ticker symbol, price float64",
    ),
    (lambda a, q: q.union("u", other_stream()), "reads 'elsewhere', which is a stream of another application"),
    (lambda a, q: q.sort("s", "cost", window=COUNT), "reads 'cost' in by, which its input does not have"),
    (lambda a, q: q.sort("s", [], window=COUNT), "needs by='attribute' or by=['attribute desc', ...]; got nothing"),
    (
        lambda a, q: q.sort("s", "price", window=ps.sliding(count=2, every=2)),
        "sorts in a tumbling window or in sliding(count=n)",
    ),
    (lambda a, q: q.punctor("p", ""), "needs when='condition'; got none"),
    (lambda a, q: q.delay("d", -1), "needs a delay_s of at least 0; got -1"),
    (lambda a, q: q.delay("d", float("nan")), "needs a delay_s of at least 0; got nan"),
    (lambda a, q: q.load("l", -1), "needs a flop_per_tuple of at least 0; got -1"),
    (lambda a, q: q.load("l", wait_ms_per_tuple=-1), "needs a wait_ms_per_tuple of at least 0; got -1"),
    (lambda a, q: q.load("l", wait_ms_per_block=-2), "needs a wait_ms_per_block of at least 0; got -2"),
    (lambda a, q: q.delay("d", "1"), "needs a delay_s of at least 0; got '1'"),  # type: ignore[arg-type]
    (lambda a, q: q.throttle("t", None), "needs a positive rate_tuples_s; got None"),  # type: ignore[arg-type]
    (lambda a, q: q.union("u", 3), "reads streams; got 3"),  # type: ignore[arg-type]
    (lambda a, q: join(q, "quotes", window=COUNT), "reads streams; got 'quotes'"),  # type: ignore[arg-type]
    (lambda a, q: q.sink("s", "folder"), "needs a sink such as ps.sinks.parquet('directory'); got 'folder'"),  # type: ignore[arg-type]
    (
        lambda a, q: a.source("s", "file.csv", schema={"x": "string"}),  # type: ignore[arg-type]
        "needs a source such as ps.sources.csv('file.csv'); got 'file.csv'",
    ),
    (
        lambda a, q: q.aggregate("a", by=3, window=COUNT, emit={"n": "count()"}),  # type: ignore[arg-type]
        "reads 3 in by, which its input does not have",
    ),
    (
        lambda a, q: q.sort("s", "price descending", window=COUNT),
        "reads 'price descending' in by, which its input does not have",
    ),
    (
        lambda a, q: q.functor("l", emit={"x": "split(note, ' ')"}).sort("s", "x", window=COUNT),
        "goes by 'x', which is a list<string>; choose a part of it",
    ),
    (
        lambda a, q: aggregate(q, "count()", COUNT, functions={"median": len}),
        "has a function 'median' that is no aggregate; got <built-in function len>; wrap it: ps.aggregate_function(",
    ),
    (
        lambda a, q: aggregate(q, "sum(price)", COUNT, functions={"sum": ps.aggregate_function(len, "int64")}),
        "has a function 'sum' of its own, the name of a built-in aggregate; call it otherwise",
    ),
    (
        lambda a, q: a.request("quote", partition="pe0"),
        "is requested but not there; did you mean 'quotes'?",
    ),
    (
        lambda a, q: aggregate(q, "count()", ps.sliding(count=0)),
        "has a wrong window: a sliding count window needs a positive whole number as its size; got 0",
    ),
    (lambda a, q: q.throttle("t", 0), "needs a positive rate_tuples_s; got 0"),
    (lambda a, q: q.map("m", 5, {"x": "int64"}), "needs a function; got 5"),  # type: ignore[arg-type]
    (lambda a, q: q.map("m", str, None), "needs schema={'attribute': 'type', ...}; got None"),
    (lambda a, q: q.map("m", str, {}), "needs attributes with names of their own in its schema; got []"),
    (
        lambda a, q: q.map("m", str, {"x": "float46"}),
        "gives attribute 'x' the type 'float46': there is no type 'float46'",
    ),
    (
        lambda a, q: q.operator("o", object(), schema={"x": "int64"}),
        "needs an object with a method 'state'; got object",
    ),
    (
        lambda a, q: q.operator("o", object(), schema={"x": "int64"}),
        "needs an object with a method 'process'; got object",
    ),
    (
        lambda a, q: q.barrier("b", q, emit={"x": "quotes.price"}),
        "synchronises at least two different streams; got quotes, quotes",
    ),
    (
        lambda a, q: a.source("s", schema={"x": "string"}, stamp="x"),
        "has the stamp 'x', which must be a timestamp or a number",
    ),
    (
        lambda a, q: a.source("s", schema={"x": "symbol"}, event_time="x"),
        "has the event time 'x', which must be a timestamp or a number; got symbol",
    ),
    (
        lambda a, q: a.source("s", schema={"x": "string"}, stamp="y"),
        "reads 'y' in stamp, which its input does not have",
    ),
    (lambda a, q: a.source("s", schema={"x": "string"}, rate_tuples_s=-1), "needs a positive rate_tuples_s; got -1"),
    (
        lambda a, q: a.source("s", schema={"x": "string"}, event_time="x", out_of_order_s=1),
        "has the event time 'x', which must be a timestamp or a number; got string",
    ),
    (
        lambda a, q: a.source("s", schema={"x": "int64"}, event_time="t"),
        "reads 't' in event_time, which its input does not have",
    ),
    (
        lambda a, q: a.source("s", schema={"x": "int64"}, event_time="x", out_of_order_s=-1),
        "needs an out_of_order_s of at least 0; got -1",
    ),
    (
        lambda a, q: a.source("s", schema={"x": "int64"}, out_of_order_s=1.5),
        "has out_of_order_s=1.5 but no event time; add event_time='attribute'",
    ),
    (
        lambda a, q: a.source("s", schema={"x": "int64"}, max_ahead_s=5),
        "has max_ahead_s=5 but no event time; add event_time='attribute'",
    ),
    (
        lambda a, q: a.source("s", schema={"x": "int64"}, event_time="x", late="drop"),
        "has late='drop' but no bound from which on a tuple is late; add out_of_order_s=...",
    ),
    (
        lambda a, q: a.source("s", schema={"x": "int64"}, event_time="x", late="keep"),  # type: ignore[arg-type]
        "needs late as 'dead_letter' or 'drop'; got 'keep'",
    ),
    (lambda a, q: a.source("s", schema={"x": "int64"}, idle_timeout_s=0), "needs a positive idle_timeout_s; got 0"),
    (lambda a, q: a.source("s", schema={"x": "int64"}, event_time="x", idle_timeout_s=3, max_ahead_s=None), None),
    (lambda a, q: aggregate(q, "count(", COUNT), "has a mistake in emit 'x' `count(`"),
    (
        lambda a, q: aggregate(q, "price", COUNT),
        "reads 'price' outside of an aggregate (in emit 'x' `price`); use any(price)",
    ),
    (lambda a, q: aggregate(q, "sum(sum(price))", COUNT), "but aggregates do not nest"),
    (lambda a, q: aggregate(q, "count()", None), "needs a window such as ps.sliding(count=4); got None"),
    (
        lambda a, q: aggregate(q, "count()", ps.tumbling(count=2, per_group=True)),
        "has a window per group but no groups; add by=",
    ),
    (
        lambda a, q: aggregate(q, "count()", ps.tumbling(time_s=2, on="t")),
        "reads 't' in the window's on, which its input",
    ),
    (
        lambda a, q: aggregate(q, "count()", ps.tumbling(delta=2, on="note")),
        "which must be a timestamp or a number; got string",
    ),
    (
        lambda a, q: aggregate(q, "window_end()", COUNT),
        "calls window_end, which only a time window has; got sliding count 2",
    ),
    (
        lambda a, q: aggregate(q, "sum(seq_num())", COUNT),
        "calls seq_num in emit 'x' `sum(seq_num())`, which only a functor can",
    ),
    (lambda a, q: join(q, q, on="price", window=ps.sliding(count=2, per_group=True)), None),  # type: ignore[list-item]
    (
        lambda a, q: join(q, q, window=ps.tumbling(count=2)),
        "joins sliding windows by count, time or delta; got tumbling count 2",
    ),
    (
        lambda a, q: join(q, q, window=ps.sliding(count=2, per_group=True)),
        "has a window per group but no groups; add on=",
    ),
    (
        lambda a, q: join(q, q, on=[("price", "note")]),
        "joins on 'price' and 'note', a float64 and a string; cast one of them",
    ),
    (lambda a, q: join(q, q, on="cost"), "reads 'cost' in on (left), which its input does not have"),
    (lambda a, q: join(q, q, where="left.price > note"), "reads 'note', which several of its inputs have"),
]


def other_stream() -> ps.Stream:
    return ps.Application("other").source("elsewhere", schema=SCHEMA)


def aggregate(stream: ps.Stream, expression: str, window: Any, **more: Any) -> ps.Stream:
    return stream.aggregate("agg", window=window, emit={"x": expression}, **more)


def join(stream: ps.Stream, right: ps.Stream, window: Window = COUNT, **more: Any) -> ps.Stream:
    return stream.join("j", right, left_window=window, right_window=window, emit={"x": "left.price"}, **more)


@pytest.mark.parametrize(("write", "sentence"), SENTENCES, ids=[f"{n}" for n in range(len(SENTENCES))])
def test_each_mistake_has_its_sentence(write: Any, sentence: str | None) -> None:
    found = mistakes(write)
    if sentence is None:
        assert found == []
        return
    assert any(sentence in text for text in found), found
    assert all(text.startswith("operator '") and "(test_problems.py:" in text for text in found)


def test_all_mistakes_are_reported_together_in_the_order_of_the_program() -> None:
    app = ps.Application("wrong")
    quotes = app.source("quotes", schema={"price": "flaot64"})
    quotes.functor("half", where="prize > 1", emit={"h": "price / 2"}).throttle("slow", -1).sink("out")
    with pytest.raises(ps.errors.ApplicationError) as raised:
        _ = app.graph
    lines = str(raised.value).splitlines()
    assert [line.split("'")[1] for line in lines] == ["quotes", "half", "slow"]
    assert "did you mean 'float64'?" in lines[0]
    assert "did you mean 'price'?" in lines[1]


def test_what_follows_from_a_mistake_is_not_complained_of_again() -> None:
    found = mistakes(lambda a, q: q.functor("f", emit={"x": "no_such"}).functor("g", where="x > 1 and x like 'a'"))
    assert len(found) == 1


def test_an_application_without_operators_says_how_to_start() -> None:
    with pytest.raises(
        ps.errors.ApplicationError, match=r"application 'empty' has no operators; start with app\.source"
    ):
        _ = ps.Application("empty").graph


def test_one_mistake_is_not_told_twice_by_what_follows_from_it() -> None:
    told = mistakes(lambda a, q: q.functor("f", emit=[{"x": "pric"}, {"x": "volume"}]))
    assert len(told) == 1


def test_a_functor_copies_attributes_with_any_name() -> None:
    app = ps.Application("names")
    app.source("numbers", schema={'a "b"': "int64", "case": "int64"}).functor("copy").sink("out")
    assert ps.evaluate(app, {"numbers": {'a "b"': [1], "case": [2]}})["out"].to_pylist() == [{'a "b"': 1, "case": 2}]


def test_streams_and_branches_that_are_not_there_are_told_with_those_that_are() -> None:
    app = ps.Application("names")
    branches = app.source("numbers", schema={"x": "int64"}).split("size", {"small": "x < 3", "rest": None})
    with pytest.raises(KeyError, match=r"has no stream 'number'; it has: numbers, size\.small, size\.rest"):
        app.stream("number")
    with pytest.raises(KeyError, match="there is no branch 'large'; there are: small, rest"):
        branches["large"]
    with pytest.raises(AttributeError, match="there is no branch 'large'; there are: small, rest"):
        _ = branches.large


def test_a_schema_in_the_place_of_a_source_is_one_mistake() -> None:
    app = ps.Application("swapped")
    quotes = app.source("quotes", {"x": "int64"})  # type: ignore[arg-type]
    quotes.functor("f", where="x > 0", emit={"y": "x"}).sink("out")
    (problem,) = app.problems
    assert str(problem).endswith("has its schema where its source goes; write schema={...}")


@pytest.mark.parametrize(
    "add",
    [
        lambda q: q.functor("f", where="price > 0", emit={"y": "price"}),
        lambda q: q.aggregate("w", window=COUNT, by="ticker", emit={"y": "sum(price)"}),
        lambda q: q.sort("s", "price", window=ps.tumbling(count=2)),
    ],
)
def test_a_missing_schema_is_the_only_mistake(add: Callable[[ps.Stream], ps.Stream]) -> None:
    app = ps.Application("unknown")
    add(app.source("quotes", schema=5)).sink("out")  # type: ignore[arg-type]
    assert [str(problem).split(") ", 1)[1] for problem in app.problems] == [
        "needs schema={'attribute': 'type', ...}; got 5"
    ]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("int", "did you mean 'int64'?"), ("double", "did you mean 'float64'?"), ("varchar", "did you mean 'string'?"),
        ("boolean", "did you mean 'bool'?"), ("flot32", "did you mean 'float32'?"), (int, "write 'int64'"),
        (str, "write 'string'"), (bool, "write 'bool'"),
    ],
)  # fmt: skip
def test_a_type_of_another_language_has_the_word_to_write(word: Any, hint: str) -> None:
    app = ps.Application("types")
    app.source("quotes", schema={"x": word})
    (problem,) = app.problems
    assert str(problem).endswith(f"; {hint}")


def test_a_connector_that_was_not_called_says_so_without_an_address() -> None:
    app = ps.Application("uncalled")
    app.source("quotes", ps.sources.csv, {"x": "int64"}).sink("out", ps.sinks.memory)  # type: ignore[arg-type]
    source, sink = map(str, app.problems)
    assert source.endswith("got <function csv>; call it: ps.sources.csv(...)")
    assert sink.endswith("got <function memory>; call it: ps.sinks.memory(...)")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("filter", r"a stream has no attribute 'filter'; use functor\(name, where='\.\.\.'\)"),
        ("groupBy", r"has no attribute 'groupBy'; use aggregate\("),
        ("functr", r"did you mean 'functor'\?"),
        ("zzz", "a stream has no attribute 'zzz'$"),
    ],
)
def test_a_method_of_another_library_says_what_to_use(name: str, sentence: str) -> None:
    stream = ps.Application("names").source("numbers", schema={"x": "int64"})
    with pytest.raises(AttributeError, match=sentence):
        getattr(stream, name)
