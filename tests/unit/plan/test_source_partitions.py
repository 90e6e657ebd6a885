"""Time windows over sources of several partitions are refused where nothing says how late tuples may come."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.errors import InputError
from penstock.plan.elements.source_partitions import (
    check_one_partition,
    check_partitions,
    counts_partitions,
    time_windows_by_source,
    watched_sources,
)


def windowed(window: Any = None, **settings: Any) -> ps.Application:
    app = ps.Application("windowed")
    source = app.source("ticks", ps.sources.rate(1000), **settings)
    window = window or ps.tumbling(time_s=0.2, on="timestamp")
    source.functor("all").aggregate("bars", window=window, emit={"n": "count()"}).sink("out")
    return app


def test_time_windows_over_several_partitions_are_refused_with_what_to_give() -> None:
    with pytest.raises(InputError) as raised:
        check_partitions(windowed().graph, 2)
    assert str(raised.value) == (
        "source 'ticks' has 2 partitions, whose tuples have no order in time, and feeds the time windows of 'bars'; "
        'give it event_time="timestamp" and out_of_order_s=... (the seconds by which tuples may come late)'
    )


def test_an_event_time_alone_does_not_say_how_late_tuples_may_come() -> None:
    with pytest.raises(InputError, match="source 'ticks' has 4 partitions"):
        check_partitions(windowed(event_time="timestamp").graph, 4)


@pytest.mark.parametrize(
    ("app", "partitions"),
    [
        (windowed(), 1),
        (windowed(event_time="timestamp", out_of_order_s=0), 8),
        (windowed(ps.tumbling(count=5)), 8),
    ],
)
def test_other_windows_and_one_partition_are_not_refused(app: ps.Application, partitions: int) -> None:
    check_partitions(app.graph, partitions)


def test_joins_and_sorts_by_time_are_refused_too() -> None:
    app = ps.Application("more")
    ticks = app.source("ticks", ps.sources.rate(1000))
    trace = app.source("trace", ps.sources.trace(rate="unbounded", total=3))
    window = ps.sliding(time_s=1, on="timestamp")
    count = ps.sliding(count=1)
    ticks.join("pairs", trace, left_window=window, right_window=count, emit={"n": "left.value"}).sink("a")
    ticks.sort("sorted", "value", window=ps.tumbling(time_s=1, on="timestamp")).sink("b")
    assert time_windows_by_source(app.graph) == {"ticks": ("pairs", "sorted")}
    with pytest.raises(InputError, match="the time windows of 'pairs', 'sorted'"):
        check_one_partition(app.graph, "ticks", 3)


def test_only_sources_that_need_it_are_counted_by_partition() -> None:
    assert watched_sources(windowed(ps.tumbling(count=5)).graph) == frozenset()
    assert watched_sources(windowed(ps.tumbling(count=5), idle_timeout_s=1).graph) == {"ticks"}
    assert watched_sources(windowed().graph) == {"ticks"}


@pytest.mark.parametrize("bound", [None, 1.0])
def test_partitions_have_fixed_numbers_where_a_watermark_goes_by_them(bound: float | None) -> None:
    app = ps.Application("mixed")
    others = app.source("others", ps.sources.csv("in"), {"t": "timestamp"}, event_time="t", out_of_order_s=bound)
    ticks = app.source("ticks", ps.sources.rate(1000), event_time="timestamp").functor("times", emit={"t": "timestamp"})
    both = others.union("both", ticks)
    both.aggregate("bars", window=ps.tumbling(time_s=0.2, on="t"), emit={"n": "count()"}).sink("out")
    assert [counts_partitions(app.graph, source) for source in app.graph.sources] == [False, bound is not None]
