"""The timelines drawn in docs/semantics.md, one test each: the engine does what the pictures show."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.app.windows import Window
from tests.reference.interpreter import interpret


def firings(window: Window, arrivals: str, *, by: str | None = "group", marked: bool = False) -> list[str]:
    """What an aggregate emits for arrivals such as 'a1 b1 |': the names of the tuples that each result holds."""
    rows = [{"name": word, "group": word[0], "mark": False} for word in arrivals.split() if word != "|"]
    app = ps.Application("timeline")
    stream = app.source("arrivals", schema={"name": "string", "group": "string", "mark": "bool"})
    if marked:
        rows = [{"name": word, "group": word[0], "mark": word == "|"} for word in arrivals.split()]
        stream = stream.punctor("marks", "mark", before=True).functor("tuples", where="not mark")
    return held(app, stream, rows, window, by)


def numbered(window: Window, numbers: list[float]) -> list[list[float]]:
    """What a window on `x` without groups holds at each firing."""
    app = ps.Application("timeline")
    stream = app.source("arrivals", schema={"x": "float64"})
    stream.aggregate("window", window=window, emit={"held": "collect(x)"}).sink("out")
    result: list[list[float]] = ps.evaluate(app, {"arrivals": {"x": numbers}})["out"]["held"].to_pylist()
    return result


def held(app: ps.Application, stream: ps.Stream, rows: list[Any], window: Window, by: str | None) -> list[str]:
    stream.aggregate("window", by=by, window=window, emit={"held": "collect(name)"}).sink("out")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return [" ".join(names) for names in ps.evaluate(app, {"arrivals": columns})["out"]["held"].to_pylist()]


def merged(rate: float, left: list[str], right: list[str]) -> tuple[ps.Application, ps.Stream, ps.Stream, Any]:
    """Two sources of names, the left one `rate` times as fast, and their tuples."""
    app = ps.Application("timeline")
    one = app.source("one", schema={"name": "string"}, rate_tuples_s=rate)
    other = app.source("other", schema={"name": "string"}, rate_tuples_s=1)
    return app, one, other, {"one": {"name": left}, "other": {"name": right}}


def test_sources_are_merged_by_their_rates_and_ties_by_their_place() -> None:
    app, bids, offers, tuples = merged(2, ["b0", "b1", "b2"], ["o0", "o1"])
    bids.union("both", offers).sink("out")
    assert ps.evaluate(app, tuples)["out"]["name"].to_pylist() == ["b0", "o0", "b1", "b2", "o1"]


def test_a_sliding_count_window_fires_from_the_first_tuple_on() -> None:
    window = ps.sliding(count=3, every=1, per_group=True)
    assert firings(window, "a1 b1 a2 a3 a4") == ["a1", "b1", "a1 a2", "a1 a2 a3", "a2 a3 a4"]


def test_a_sliding_count_window_fires_at_every_other_tuple_of_its_group() -> None:
    window = ps.sliding(count=3, every=2, per_group=True)
    assert firings(window, "a1 b1 a2 a3 a4") == ["a1 a2", "a2 a3 a4"]


def test_a_tumbling_count_window_fires_when_full_and_is_not_flushed() -> None:
    window = ps.tumbling(count=2, per_group=True)
    assert firings(window, "a1 b1 a2 a3 b2 a4 b3") == ["a1 a2", "b1 b2", "a3 a4"]


def test_a_window_over_the_stream_emits_a_tuple_per_group_by_first_appearance() -> None:
    window = ps.sliding(count=3, every=1)
    assert firings(window, "a1 b1 a2 b2") == ["a1", "a1", "b1", "a1 a2", "b1", "b1 b2", "a2"]


def test_a_time_window_fires_when_the_clock_passes_its_end_and_late_tuples_are_dead_letters() -> None:
    app = ps.Application("timeline")
    stream = app.source("arrivals", schema={"group": "string", "t": "float64"})
    window = ps.sliding(time_s=2, every_s=1, on="t")
    emit = {"end": "window_end()", "held": "collect(t)"}
    stream.aggregate("window", by="group", window=window, emit=emit).sink("out")
    times = [0.2, 0.9, 1.5, 3.1, 2.9, 3.0, 4.0]
    tables = ps.evaluate(app, {"arrivals": {"group": list("aabaaaa"), "t": times}})
    fired = [(row["end"].second, row["held"]) for row in tables["out"].to_pylist()]
    assert fired == [(1, [0.2, 0.9]), (2, [0.2, 0.9]), (2, [1.5]), (3, [1.5]), (4, [3.1, 3.0])]
    assert [letter["row"] for letter in tables.dead_letters.to_pylist()] == ['{"group": "a", "t": 2.9}']


Fired = list[tuple[int, list[float]]]


def watermarked(app: ps.Application, name: str, **settings: Any) -> ps.Stream:
    """A source whose tuples come up to a second late."""
    return app.source(name, schema={"t": "float64"}, event_time="t", out_of_order_s=1, **settings)


def fired_by(
    stream: ps.Stream, app: ps.Application, times: dict[str, list[float]], **settings: Any
) -> tuple[Fired, int]:
    """The ends and the tuples of the windows of two seconds, and how many dead letters there are."""
    emit = {"end": "window_end()", "held": "collect(t)"}
    stream.aggregate("window", window=ps.tumbling(time_s=2, on="t"), emit=emit).sink("out")
    tables = ps.evaluate(app, {name: {"t": own} for name, own in times.items()}, **settings)
    return [(row["end"].second, row["held"]) for row in tables["out"].to_pylist()], tables.dead_letters.num_rows


@pytest.mark.parametrize(("late", "letters"), [("dead_letter", 1), ("drop", 0)])
def test_a_window_fires_when_the_watermark_passes_its_end(late: str, letters: int) -> None:
    app = ps.Application("timeline")
    times = [0.5, 1.8, 2.3, 1.2, 3.0, 1.9, 5.0]
    fired = fired_by(watermarked(app, "a", late=late), app, {"a": times})
    assert fired == ([(2, [0.5, 1.2, 1.8]), (4, [2.3, 3.0])], letters)


def test_of_two_sources_the_lowest_watermark_counts() -> None:
    app = ps.Application("timeline")
    both = watermarked(app, "a").union("both", watermarked(app, "b"))
    fired = fired_by(both, app, {"a": [0.5, 1.5, 4.0, 6.0], "b": [0.7, 3.2]})
    assert fired == ([(2, [0.5, 0.7, 1.5]), (4, [3.2])], 0)


def test_a_source_without_a_bound_beside_one_with_a_bound_counts_with_0() -> None:
    app, schema = ps.Application("timeline"), {"t": "float64", "n": "float64"}
    fast = app.source("a", schema=schema, event_time="t", out_of_order_s=1, stamp="n")
    both = fast.union("both", app.source("b", schema=schema, event_time="t", stamp="n"))
    emit = {"end": "window_end()", "held": "collect(t)"}
    both.aggregate("window", window=ps.tumbling(time_s=2, on="t"), emit=emit).sink("out")
    given = {
        "a": {"t": [0.5, 2.5, 4.5, 6.5, 8.5], "n": [0, 0.5, 1, 1.5, 2]},
        "b": {"t": [0.7, 1.5, 3.2], "n": [0, 1, 2]},
    }
    tables = ps.evaluate(app, given)
    fired = [(row["end"].second, row["held"]) for row in tables["out"].to_pylist()]
    assert fired == [(2, [0.5, 0.7, 1.5]), (4, [2.5, 3.2]), (6, [4.5])]
    assert tables.dead_letters.num_rows == 0


def test_windows_fire_at_the_end_where_asked() -> None:
    for settings, expected in (({"at_end": "fire"}, [(2, [0.5, 1.8])]), ({}, [])):
        app = ps.Application("timeline")
        assert fired_by(watermarked(app, "a"), app, {"a": [0.5, 1.8]}, **settings) == (expected, 0)


def test_a_join_takes_both_inputs_by_event_time_up_to_the_watermark() -> None:
    for settings, last in (({}, []), ({"at_end": "fire"}, [(6.0, 5.9)])):
        app, window = ps.Application("timeline"), ps.sliding(time_s=1, on="t")
        left, right = watermarked(app, "left"), watermarked(app, "right")
        emit = {"x": "left.t", "y": "right.t"}
        left.join("pairs", right, left_window=window, right_window=window, emit=emit).sink("out")
        given = {"left": {"t": [0.5, 1.5, 4.0, 6.0]}, "right": {"t": [1.2, 0.7, 3.2, 5.9]}}
        pairs = [(row["x"], row["y"]) for row in ps.evaluate(app, given, **settings)["out"].to_pylist()]
        assert pairs == [(0.5, 0.7), (0.5, 1.2), (1.5, 0.7), (1.5, 1.2), (4.0, 3.2), *last]


def test_a_sliding_delta_window_keeps_what_is_near_the_newest() -> None:
    assert numbered(ps.sliding(delta=5, on="x"), [1, 3, 7, 20]) == [[1], [1, 3], [3, 7], [20]]


def test_a_tumbling_delta_window_fires_without_the_tuple_that_is_too_far() -> None:
    assert numbered(ps.tumbling(delta=5, on="x"), [1, 3, 7, 20]) == [[1, 3], [7]]


def test_a_tumbling_punctuation_window_fires_at_each_punctuation_that_follows_tuples() -> None:
    window = ps.tumbling(punctuation=True)
    assert firings(window, "a1 b1 | a2 | |", marked=True) == ["a1", "b1", "a2"]


def test_a_sliding_punctuation_window_holds_the_last_segments() -> None:
    window = ps.sliding(punctuation=2)
    assert firings(window, "a1 b1 | a2 | a3 |", marked=True) == ["a1", "b1", "a1 a2", "b1", "a2 a3"]


@pytest.mark.parametrize("group", [None, "key"])
@pytest.mark.parametrize(
    ("window", "oldest"),
    [
        (ps.tumbling(count=2), [1, 3]),
        (ps.sliding(count=2), [1, 1, 2, 3, 4]),
        (ps.tumbling(time_s=2, on="x"), [1, 2]),
        (ps.sliding(time_s=2, every_s=1, on="x"), [1, 1, 2, 3]),
    ],
    ids=str,
)
def test_any_is_the_oldest_value_of_a_window(window: Window, oldest: list[int], group: str | None) -> None:
    app = ps.Application("timeline")
    stream = app.source("arrivals", schema={"x": "int64", "key": "string"})
    stream.aggregate("window", window=window, by=group, emit={"some": "any(x)", "first": "first(x)"}).sink("out")
    table = pa.table({"x": [1, 2, 3, 4, 5], "key": ["a"] * 5})
    rows = [{"some": x, "first": x} for x in oldest]
    assert ps.evaluate(app, {"arrivals": table})["out"].to_pylist() == rows
    expected, _ = interpret(app.graph, {"arrivals": table.to_pylist()})
    assert expected["out"] == rows


def test_a_join_meets_the_other_window_by_age() -> None:
    app = ps.Application("timeline")
    left, right = (app.source(name, schema={"name": "string", "t": "float64"}, stamp="t") for name in ("l", "r"))
    emit = {"pair": "left.name || right.name"}
    windows = {"left_window": ps.sliding(count=2), "right_window": ps.sliding(count=1)}
    left.join("pairs", right, **windows, emit=emit).sink("out")
    tuples = {"l": {"name": ["l1", "l2", "l3"], "t": [0, 2, 4]}, "r": {"name": ["r1", "r2"], "t": [1, 3]}}
    assert ps.evaluate(app, tuples)["out"]["pair"].to_pylist() == ["l1r1", "l2r1", "l1r2", "l2r2", "l3r2"]


def test_a_barrier_waits_for_the_last_of_the_nth_tuples() -> None:
    app, left, right, tuples = merged(1, ["x1", "x2", "x3"], ["y1", "y2"])
    left.barrier("pairs", right, emit={"pair": "one.name || other.name"}).sink("out")
    assert ps.evaluate(app, tuples)["out"]["pair"].to_pylist() == ["x1y1", "x2y2"]


def test_a_delay_changes_what_tuples_meet() -> None:
    app = ps.Application("timeline")
    one, other = (app.source(name, schema={"name": "string", "t": "float64"}, stamp="t") for name in ("o", "d"))
    one.union("both", other.delay("later", 1.0)).sink("out")
    tuples = {"d": {"name": ["p", "q", "r"], "t": [0, 0.5, 3]}, "o": {"name": ["i", "j", "k"], "t": [0.9, 1.2, 3.5]}}
    assert ps.evaluate(app, tuples)["out"]["name"].to_pylist() == ["i", "p", "j", "q", "k", "r"]
