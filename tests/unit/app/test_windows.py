"""Windows are written in one way, and what makes no sense is refused in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.app.windows import Window


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (ps.sliding(count=4, every=2), "sliding count 4 every 2"),
        (ps.tumbling(count=4, per_group=True), "tumbling count 4 per group"),
        (ps.sliding(time_s=1.5, every_s=0.5, on="t"), "sliding time 1.5 s every 0.5 s on t"),
        (ps.tumbling(time_s=60, on="t"), "tumbling time 60 s on t"),
        (ps.sliding(delta=2.5, every=3, on="x"), "sliding delta 2.5 every 3 on x"),
        (ps.tumbling(punctuation=True), "tumbling punctuation 1"),
        (ps.sliding(punctuation=3), "sliding punctuation 3 every 1"),
    ],
)
def test_a_window_prints_as_it_was_written(window: Window, text: str) -> None:
    assert str(window) == text


def test_time_windows_are_kept_in_microseconds() -> None:
    window = ps.sliding(time_s=0.3, every_s=0.1, on="t")
    assert (window.size, window.every) == (300_000, 100_000)


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (ps.sliding, {}, "takes exactly one of count, time_s, delta, punctuation; got none"),
    (ps.sliding, {"count": 2, "delta": 1}, "got count, delta"),
    (ps.sliding, {"count": 0}, "a sliding count window needs a positive whole number as its size; got 0"),
    (ps.sliding, {"count": True}, "needs a positive whole number as its size; got True"),
    (ps.sliding, {"count": 2.5}, "needs a positive whole number as its size; got 2.5"),
    (ps.sliding, {"count": 2, "every": 0}, "needs a positive whole number as its every; got 0"),
    (ps.sliding, {"count": 2, "every_s": 1}, "every_s goes with time_s; got a window by count; use every="),
    (ps.sliding, {"count": 2, "on": "x"}, "a sliding count window has no attribute; got on='x'; leave it out"),
    (ps.sliding, {"time_s": 3}, "a sliding time window runs on an attribute; got none; add on="),
    (ps.sliding, {"time_s": 3, "every_s": 2, "on": "t"}, "must be a multiple of its every_s; got 3 and 2"),
    (ps.sliding, {"time_s": 3, "every_s": 0, "on": "t"}, "a sliding time window needs a positive number of seconds"),
    (ps.sliding, {"time_s": float("nan"), "on": "t"}, "positive number of seconds, to the microsecond; got nan"),
    (ps.sliding, {"delta": -1, "on": "x"}, "a sliding delta window needs a positive"),
    (ps.tumbling, {"count": -1}, "a tumbling count window needs a positive whole number as its size; got -1"),
    (ps.tumbling, {"time_s": 0.0000001, "on": "t"}, "a tumbling time window needs a positive number of seconds"),
    (ps.tumbling, {"punctuation": False}, "takes exactly one of"),
    (ps.tumbling, {"punctuation": 3}, "a tumbling window fires at every punctuation=True; got 3"),
    (ps.sliding, {"time_s": 3, "every": 2, "on": "t"}, "a sliding time window moves by every_s; got every=2"),
    (ps.sliding, {"time_s": "3", "on": "t"}, "needs a positive number of seconds, to the microsecond; got '3'"),
    (ps.sliding, {"time_s": 1e15, "on": "t"}, "needs a positive number of seconds, to the microsecond; got 1000000"),
    (ps.sliding, {"count": 1 << 70}, "a sliding count window needs a positive whole number as its size"),
    (ps.sliding, {"delta": "far", "on": "x"}, "a sliding delta window needs a positive number as its size; got 'far'"),
]


@pytest.mark.parametrize(("make", "arguments", "sentence"), REFUSED, ids=[str(a) for _, a, _ in REFUSED])
def test_windows_that_make_no_sense_are_refused(make: Any, arguments: dict[str, Any], sentence: str) -> None:
    app = ps.Application("wrong")
    numbers = app.source("numbers", schema={"x": "int64", "t": "timestamp"})
    numbers.aggregate("window", window=make(**arguments), emit={"n": "count()"})
    (problem,) = app.problems
    assert str(problem).startswith("operator 'window' (test_windows.py:")
    assert sentence in str(problem)
