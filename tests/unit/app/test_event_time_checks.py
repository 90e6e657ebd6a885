"""Time windows that a watermark fires are over the event time of their sources, or over what only the user knows."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.app.stream import Stream
from penstock.errors import ApplicationError

SCHEMA = {"at": "float64", "sent": "float64", "k": "int64"}
WINDOW = ps.tumbling(time_s=1, on="at")


def source(app: ps.Application, name: str = "quotes", *, bound: float | None = 1.0, event_time: str = "at") -> Stream:
    return app.source(name, schema=SCHEMA, event_time=event_time, out_of_order_s=bound)


def counted(stream: Stream, on: str) -> None:
    stream.aggregate("bars", window=ps.tumbling(time_s=1, on=on), emit={"n": "count()"}).sink("out")


def refused(app: ps.Application) -> str:
    with pytest.raises(ApplicationError) as raised:
        _ = app.graph
    return str(raised.value)


def test_a_window_on_another_attribute_than_the_event_time_is_refused() -> None:
    app = ps.Application("bars")
    counted(source(app), "sent")
    said = refused(app)
    assert "operator 'bars' (test_event_time_checks.py:" in said
    assert (
        "needs its time window on 'at', the event time of source 'quotes', whose watermark fires it; got 'sent'; "
        "give the source event_time='sent', or the window on='at'"
    ) in said


def test_it_is_found_behind_operators_that_pass_the_attribute_on_and_by_its_new_name() -> None:
    app = ps.Application("bars")
    cheap, rest = source(app).functor("renamed", emit={"at": "sent", "k": "k"}).split("parts", cheap="k < 3", rest=None)
    counted(cheap.union("all", rest).punctor("marked", "k = 1"), "at")
    assert "got 'at', which is 'sent' of the source" in refused(app)


def test_sorts_and_either_window_of_a_join_are_looked_at() -> None:
    app = ps.Application("pairs")
    left, right, window = source(app), source(app, "others"), ps.sliding(time_s=1, on="at")
    left.sort("sorted", "k", window=ps.tumbling(time_s=1, on="sent")).sink("out")
    wrong = ps.sliding(time_s=1, on="sent")
    pairs = left.join("pairs", right, left_window=window, right_window=wrong, emit={"at": "left.at", "t": "right.sent"})
    pairs.sort("again", "at", window=ps.tumbling(time_s=1, on="t")).sink("pairs_out")
    said = refused(app)
    assert said.count("which is 'sent'") == 1
    for words in ("'sorted'", "'pairs'", "'again'", "of source 'others'"):
        assert words in said


@pytest.mark.parametrize("bound", [None, 1.0])
def test_windows_on_what_was_computed_or_goes_by_another_name_are_not_refused(bound: float | None) -> None:
    app = ps.Application("bars")
    quotes = source(app, bound=bound)
    fine = [
        quotes,
        quotes.functor("renamed", emit={"t": "at", "at": "at"}),
        quotes.functor("computed", emit={"at": "sent + 0.5"}),
        quotes.functor("both", emit=[{"at": "at"}, {"at": "sent"}]),
        quotes.map("own", lambda row: {"at": row["sent"]}, {"at": "float64"}, per_tuple=True),
        quotes.aggregate("last", window=WINDOW, emit={"at": "max(sent)"}),
        quotes.join("pairs", source(app, "more", bound=bound), left_window=ps.sliding(time_s=1, on="at"),
                    right_window=ps.sliding(time_s=1, on="at"), emit={"at": "right.at"}),
    ]  # fmt: skip
    for number, stream in enumerate(fine):
        stream.aggregate(f"bars{number}", window=WINDOW, emit={"n": "count()"}).sink(f"out{number}")
    assert app.problems == ()


def test_without_a_bound_windows_go_by_their_own_attribute_and_are_not_refused() -> None:
    app = ps.Application("bars")
    counted(source(app, bound=None), "sent")
    assert app.problems == ()


def test_each_source_of_a_union_has_its_own_event_time() -> None:
    app = ps.Application("bars")
    other = source(app, "others", event_time="sent").functor("renamed", emit={"at": "sent", "sent": "at", "k": "k"})
    counted(source(app).union("all", other), "at")
    assert app.problems == ()
    wrong = ps.Application("bars")
    counted(source(wrong).union("all", source(wrong, "others", event_time="sent")), "at")
    assert "the event time of source 'others'" in refused(wrong)


def test_a_source_without_an_event_time_meets_no_watermark_in_time_windows() -> None:
    app = ps.Application("bars")
    other = app.source("others", schema=SCHEMA, stamp="sent").functor(
        "renamed", emit={"at": "sent", "sent": "at", "k": "k"}
    )
    both = source(app).union("all", other)
    counted(both, "at")
    both.aggregate("again", window=WINDOW, emit={"n": "count()"}).sink("more")
    said = refused(app)
    assert "source 'others' (test_event_time_checks.py:" in said
    assert (
        "needs an event time: its tuples meet those of source 'quotes', which has out_of_order_s, in the time windows "
        "of operator 'bars'; add event_time='sent' and out_of_order_s=... (the seconds by which its tuples may come "
        "late)"
    ) in said
    assert said.count("needs an event time") == 1


def test_a_source_without_an_event_time_is_found_behind_functions_and_on_either_side_of_a_join() -> None:
    app, window = ps.Application("pairs"), ps.sliding(time_s=1, on="at")
    other = app.source("others", schema=SCHEMA).map("own", lambda row: row, {"at": "float64"}, per_tuple=True)
    source(app).join("pairs", other, left_window=window, right_window=window, emit={"at": "left.at"}).sink("out")
    assert "in the time windows of operator 'pairs'; add event_time=... and out_of_order_s=..." in refused(app)


def test_a_source_without_an_event_time_may_meet_a_watermark_elsewhere() -> None:
    app = ps.Application("counts")
    quotes, other = source(app), app.source("others", schema=SCHEMA)
    counted(quotes, "at")
    both = quotes.union("all", other, source(app, "timed", bound=None))
    both.aggregate("counts", window=ps.sliding(count=3), emit={"n": "count()"}).sink("more")
    other.aggregate("alone", window=ps.tumbling(time_s=1, on="sent"), emit={"n": "count()"}).sink("rest")
    assert app.problems == ()


def test_a_window_on_another_attribute_of_a_source_without_a_bound_is_refused_beside_one_with_a_bound() -> None:
    app = ps.Application("bars")
    counted(source(app).union("all", source(app, "others", bound=None, event_time="sent")), "at")
    assert "needs its time window on 'sent', the event time of source 'others'" in refused(app)


def test_a_count_window_and_a_window_with_a_mistake_are_not_looked_at() -> None:
    app = ps.Application("counts")
    source(app).aggregate("counts", window=ps.sliding(count=3), emit={"n": "count()"}).sink("out")
    assert app.problems == ()
    wrong = ps.Application("wrong")
    source(wrong).aggregate("bars", window=ps.tumbling(time_s=-1, on="sent"), emit={"n": "count()"}).sink("out")
    assert "event time" not in refused(wrong)
