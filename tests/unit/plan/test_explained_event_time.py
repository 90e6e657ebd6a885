"""`penstock explain` says which sources have event time, and how far windows are behind it."""

from __future__ import annotations

import penstock as ps
from penstock.plan.explain import explain

SCHEMA = {"k": "int64", "t": "float64"}


def test_event_times_and_the_lag_of_each_window_are_explained() -> None:
    app = ps.Application("explained")
    one = app.source("one", schema=SCHEMA, event_time="t", out_of_order_s=2)
    two = app.source("two", schema=SCHEMA, event_time="t", out_of_order_s=5, idle_timeout_s=30)
    emit = {"k": "any(k)", "t": "window_end()"}
    bars = one.union("both", two).aggregate("bars", window=ps.tumbling(time_s=10, on="t"), by="k", emit=emit)
    bars.aggregate("long", window=ps.tumbling(time_s=60, on="t"), emit={"n": "count()"}).sink("out")
    app.source("other", schema=SCHEMA, event_time="t").sink("rest")
    told = {operator.name: operator.event_time for operator in explain(app.graph).operators}
    assert told == {
        "one": "'t', up to 2 s out of order",
        "two": "'t', up to 5 s out of order, idle after 30 s",
        "both": None,
        "bars": "watermark lowest of one - 2 s, two - 5 s",
        "long": "watermark lowest of one - 12 s, two - 15 s",
        "out": None,
        "other": "'t', the highest time so far is the clock",
        "rest": None,
    }


def test_a_source_without_a_bound_is_in_the_watermark_of_what_another_with_a_bound_reaches() -> None:
    app = ps.Application("explained")
    one = app.source("one", schema=SCHEMA, event_time="t", out_of_order_s=2)
    two = app.source("two", schema=SCHEMA, event_time="t")
    short, emit = ps.tumbling(time_s=10, on="t"), {"k": "any(k)", "t": "window_start()"}
    own = two.aggregate("own", window=short, by="k", emit=emit).functor("same", emit={"k": "k", "t": "0.5"})
    one.union("both", own).aggregate("bars", window=short, by="k", emit=emit).sink("out")
    told = {operator.name: operator.event_time for operator in explain(app.graph).operators}
    assert told["two"] == "'t', up to 0 s out of order"
    assert told["own"] is None
    assert told["bars"] == "watermark lowest of one - 2 s, two - 10 s"


def test_the_order_of_micro_batches_is_explained() -> None:
    app = ps.Application("explained")
    one = app.source("one", ps.sources.csv("one/"), SCHEMA, stamp="t")
    two = app.source("two", ps.sources.rate(5)).functor("same", emit={"k": "value", "t": "0.5"})
    one.union("both", two).sink("out")
    (note,) = explain(app.graph).notes
    assert note == "on Spark, sources are merged in the order of micro-batches, as 'two' has neither a stamp nor a rate"
