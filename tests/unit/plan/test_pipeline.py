"""Where exchanges stand between elements."""

from __future__ import annotations

from dataclasses import replace

import pytest

import penstock as ps
from penstock.cli.demo.vwap import vwap, vwap_per_ticker
from penstock.errors import InputError
from penstock.plan.elements.layout import layout_of
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.explain import explain


def shape(app: ps.Application) -> list[tuple[tuple[str, ...], str]]:
    return [(element.operators, element.scope) for element in pipeline_of(app.graph).elements]


def test_a_keyed_window_stands_behind_one_exchange_with_all_that_follows() -> None:
    assert shape(vwap_per_ticker()) == [(("quotes", "trades"), "none"), (("window", "vwap", "out"), "key")]
    assert pipeline_of(vwap_per_ticker().graph).elements[1].keys == (("ticker",),)


def test_a_window_over_the_whole_stream_has_one_replica() -> None:
    assert [scope for _, scope in shape(vwap())] == ["none", "stream"]


def test_a_second_window_by_the_same_key_needs_no_exchange_and_one_by_another_key_does() -> None:
    app = ps.Application("two windows")
    window = ps.tumbling(count=2, per_group=True)
    ticks = app.source("ticks", schema={"k": "int64", "j": "int64", "x": "float64"})
    first = ticks.aggregate("first", by="k", window=window, emit={"key": "any(k)", "j": "last(j)", "x": "sum(x)"})
    same = first.aggregate("same", by="key", window=window, emit={"k": "any(key)", "j": "last(j)", "x": "max(x)"})
    same.aggregate("other", by="j", window=window, emit={"x": "min(x)"}).sink("out")
    assert shape(app) == [(("ticks",), "none"), (("first", "same"), "key"), (("other", "out"), "key")]


def test_time_windows_go_by_key_alone_with_what_is_stateless() -> None:
    app = ps.Application("clock")
    ticks = app.source("ticks", schema={"k": "int64", "t": "float64"})
    emit = {"k": "any(k)", "n": "count()"}
    bars = ticks.aggregate("bars", by="k", window=ps.tumbling(time_s=1, on="t"), emit=emit)
    many = bars.functor("many", where="n > 1")
    many.aggregate("pairs", by="k", window=ps.sliding(count=2, per_group=True), emit={"n": "sum(n)"}).sink("out")
    assert shape(app) == [(("ticks",), "none"), (("bars", "many"), "key"), (("pairs", "out"), "key")]
    layout = layout_of(app.graph)
    assert layout.event_time_elements == (1,)
    assert layout.positioned >= {"ticks", "bars"}


def test_a_stream_joined_with_itself_by_two_attributes_is_not_dealt_out_over_time() -> None:
    app = ps.Application("itself")
    ticks = app.source("ticks", schema={"j": "int64", "k": "int64", "t": "float64"})
    window, emit = ps.sliding(time_s=1, on="t"), {"j": "left.j"}
    ticks.join("pairs", ticks, left_window=window, right_window=window, on=[("j", "k")], emit=emit).sink("out")
    assert [scope for _, scope in shape(app)] == ["none", "stream"]


def test_operators_can_be_taken_out_of_their_element() -> None:
    graph = vwap_per_ticker().graph
    names = [o.name for o in graph.operators]
    whole, cut = pipeline_of(graph), pipeline_of(graph, ["vwap"])
    assert len(cut.elements) == len(whole.elements) + 1
    assert cut.elements[-1].operators[0] == "vwap"
    assert cut.elements[-1].scope == "none"
    assert [name for e in cut.elements for name in e.operators] == names
    with pytest.raises(InputError, match=r"can be unfused: .*; got 'vwop'; did you mean 'vwap'"):
        pipeline_of(graph, ["vwop"])


def test_sources_with_stamps_of_their_own_meet_in_an_intake() -> None:
    app = ps.Application("merged")
    one = app.source("one", schema={"k": "int64", "t": "float64"}, stamp="t")
    two = app.source("two", schema={"k": "int64", "t": "float64"}, stamp="t")
    window = ps.sliding(count=2, per_group=True)
    one.functor("kept", where="k > 0").join(
        "pairs", two, left_window=window, right_window=window, on="k", emit={"k": "left.k"}
    ).sink("out")
    pipeline = pipeline_of(app.graph)
    assert pipeline.has_intake
    assert [(e.operators, e.scope) for e in pipeline.elements] == [
        ((), "none"),
        (("one", "two", "kept"), "stream"),
        (("pairs", "out"), "key"),
    ]


def scopes_of(app: ps.Application) -> dict[str, str]:
    return {name: e.scope for e in pipeline_of(app.graph).elements for name in e.operators}


def marked_stream(app: ps.Application) -> ps.Stream:
    source = app.source("plain", schema={"k": "int64", "t": "float64"})
    return source.punctor("marks", "k = 1").functor("passed", where="k > 0")


SEGMENT = ps.tumbling(punctuation=True)


def test_windows_by_punctuation_go_by_key_behind_any_number_of_punctors() -> None:
    app = ps.Application("marked")
    marked = marked_stream(app)
    marked.aggregate("segments", window=SEGMENT, by="k", emit={"n": "count()"}).sink("one")
    marked.aggregate("bars", window=ps.tumbling(time_s=1, on="t"), by="k", emit={"n": "count()"}).sink("two")
    scopes = scopes_of(app)
    assert [scopes[n] for n in ("marks", "passed", "segments", "bars")] == ["none", "none", "key", "key"]


def test_one_replica_hears_the_marks_behind_windows_by_key() -> None:
    app = ps.Application("two_stages")
    segments = marked_stream(app).aggregate("segments", window=SEGMENT, by="k", emit={"k": "any(k)", "n": "count()"})
    segments.aggregate("all", window=SEGMENT, emit={"n": "sum(n)"}).sink("out")
    scopes = scopes_of(app)
    assert [scopes[n] for n in ("marks", "passed", "segments", "all")] == ["none", "none", "key", "stream"]


def test_where_a_window_needs_the_marks_among_the_whole_stream_so_does_what_makes_them() -> None:
    app = ps.Application("marked")
    marked_stream(app).aggregate("all", window=SEGMENT, emit={"n": "count()"}).sink("two")
    assert [scopes_of(app)[n] for n in ("marks", "passed", "all")] == ["stream"] * 3


def test_explain_says_why_a_punctor_has_one_replica() -> None:
    app = ps.Application("marked")
    marked_stream(app).aggregate("all", window=SEGMENT, emit={"n": "count()"}).sink("two")
    told = explain(app.graph).elements[-1].parallelism
    assert told.limit == 1
    assert told.because.startswith("marks: its punctuations need the order of the whole stream")


def test_copies_of_marks_are_counted_by_one_replica() -> None:
    app = ps.Application("copies")
    some, rest = marked_stream(app).split("parts", {"some": "k > 2", "rest": None})
    united = some.union("united", rest)
    united.aggregate("segments", window=SEGMENT, by="k", emit={"n": "count()"}).sink("out")
    pipeline = pipeline_of(app.graph, ("segments",))
    scopes = {name: e.scope for e in pipeline.elements for name in e.operators}
    assert [scopes[n] for n in ("marks", "united", "segments")] == ["stream", "stream", "key"]


def test_windows_by_punctuation_that_meet_others_of_the_same_marks_are_numbered_by_one_replica() -> None:
    app = ps.Application("met")
    marked = marked_stream(app)
    one = marked.aggregate("one", window=SEGMENT, by="k", emit={"n": "count()"})
    two = marked.aggregate("two", window=SEGMENT, by="t", emit={"n": "count()"})
    one.union("both", two).sink("out")
    assert [scopes_of(app)[n] for n in ("marks", "one", "two")] == ["stream"] * 3


def test_windows_by_punctuation_of_an_old_checkpoint_stay_on_one_replica() -> None:
    app = ps.Application("old")
    marked_stream(app).aggregate("segments", window=SEGMENT, by="k", emit={"n": "count()"}).sink("one")
    old = replace(app.graph, punctuates_by_key=False)
    scopes = {name: e.scope for e in pipeline_of(old).elements for name in e.operators}
    assert [scopes[n] for n in ("marks", "passed", "segments")] == ["stream"] * 3
