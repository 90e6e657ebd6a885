"""Where exchanges stand between elements."""

from __future__ import annotations

import penstock as ps
from penstock.apps.vwap import vwap, vwap_per_ticker
from penstock.plan.pipeline import pipeline_of


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


def test_time_windows_come_together_since_their_clock_is_the_streams() -> None:
    app = ps.Application("clock")
    ticks = app.source("ticks", schema={"k": "int64", "t": "float64"})
    ticks.aggregate("late", by="k", window=ps.tumbling(time_s=1, on="t"), emit={"n": "count()"}).sink("out")
    assert [scope for _, scope in shape(app)] == ["none", "stream"]
