"""Graphs of many operators equal the oracle: the order between streams, punctuations, delays, barriers, joins."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from tests.reference.checking import check
from tests.reference.streams import PLAIN, plain

SAME = {"k": "k", "x": "x", "n": "n", "s": "s"}
TWICE = [{**SAME, "n": "n + 1"}, {**SAME, "x": "x * 2"}]
GROUPED = {"k": "any(k)", "x": "sum(x)", "n": "count()", "s": "max(s)"}
PAIRED = {"k": "left.k", "x": "left.x + right.x", "n": "left.n - right.n", "s": "right.s"}
STEPS = (
    "functor", "twice", "count", "delay", "throttle", "punctor", "marked", "sort", "sort_marked", "split", "union",
    "join", "barrier", "load",
)  # fmt: skip


class Sketch:
    """An application that grows by random operators, all of one schema."""

    def __init__(self, data: st.DataObject, sources: int) -> None:
        self.app, self.data, self.number = ps.Application("sketch"), data, 0
        kinds = [{"stamp": "s"}, {"rate_tuples_s": 2.0}, {}]
        self.streams = [
            self.app.source(f"source{i}", schema=PLAIN, **data.draw(st.sampled_from(kinds)))  # type: ignore[arg-type]
            for i in range(sources)
        ]

    def pick(self) -> ps.Stream:
        return self.data.draw(st.sampled_from(self.streams), label="input")

    def grow(self, step: str) -> None:
        self.number += 1
        name, stream = f"{step}{self.number}", self.pick()
        self.streams += self.split(name, stream) if step == "split" else [self.added(step, name, stream)]

    def split(self, name: str, stream: ps.Stream) -> list[ps.Stream]:
        return list(stream.split(name, {"some": "n > 0", "rest": self.data.draw(st.sampled_from([None, "n < 0"]))}))

    def added(self, step: str, name: str, stream: ps.Stream) -> ps.Stream:
        draw = self.data.draw
        match step:
            case "functor":
                return stream.functor(name, where="n < 2", emit=SAME)
            case "twice":
                return stream.functor(name, emit=TWICE)
            case "count":
                return stream.aggregate(name, window=ps.sliding(count=2, every=2, per_group=True), by="k", emit=GROUPED)
            case "delay":
                return stream.delay(name, draw(st.sampled_from([0.0, 1.0, 2.5])))
            case "throttle":
                return stream.throttle(name, draw(st.sampled_from([0.5, 1.0, 4.0])))
            case "load":
                return stream.load(name, 3, wait_ms_per_block=draw(st.sampled_from([0.0, 0.01])))
            case "punctor":
                return stream.punctor(name, "n = 1", before=draw(st.booleans()))
            case "marked":
                window = draw(st.sampled_from([ps.tumbling(punctuation=True), ps.sliding(punctuation=2)]))
                return stream.aggregate(name, window=window, by="k", emit=GROUPED)
            case "sort":
                return stream.sort(name, "x", window=draw(st.sampled_from([ps.sliding(count=2), ps.tumbling(count=3)])))
            case "sort_marked":
                return stream.sort(name, ["n desc", "x"], window=ps.tumbling(punctuation=True))
            case "union":
                others = draw(st.lists(st.sampled_from(self.streams), min_size=1, max_size=2))
                return stream.union(name, *others)
            case "join":
                window = draw(st.sampled_from([ps.sliding(count=2), ps.sliding(time_s=2.0, on="n")]))
                on = draw(st.sampled_from([None, "k"]))
                return stream.join(name, self.pick(), left_window=window, right_window=window, on=on, emit=PAIRED)
            case _:
                return self.barrier(name, stream)

    def barrier(self, name: str, stream: ps.Stream) -> ps.Stream:
        other = self.pick()
        if other.name == stream.name:
            return stream.union(name, other)
        one, two = (s.name.replace(".", "_") for s in (stream, other))
        emit = {"k": f"{one}.k", "x": f"{two}.x", "n": f"{one}.n", "s": f"{two}.s"}
        return stream.barrier(name, other, emit=emit)


@settings(max_examples=8 * settings().max_examples)
@given(data=st.data())
def test_graphs_of_random_operators(data: st.DataObject) -> None:
    sources = data.draw(st.integers(1, 3), label="sources")
    sketch = Sketch(data, sources)
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8), label="steps"):
        sketch.grow(step)
    sketch.streams[-1].sink("out")
    tables = {f"source{i}": data.draw(plain(most=8 if "twice" in str(sketch.app) else 14)) for i in range(sources)}
    check(sketch.app, tables, data, taps=[stream.name for stream in sketch.streams])


def diamond(before: bool) -> ps.Application:
    """Punctuations copied by a split, one copy delayed, made one again by a union."""
    app = ps.Application("diamond")
    marked = app.source("plain", schema=PLAIN, stamp="s").punctor("marks", "n > 1", before=before)
    some, rest = marked.split("parts", {"some": "x > 0", "rest": None})
    late = rest.delay("late", 1.5)
    united = some.functor("none", where="n < 0").union("united", late, some.throttle("slow", 2.0))
    united.aggregate("segments", window=ps.tumbling(punctuation=True), by="k", emit=GROUPED).sink("out")
    return app


@given(table=plain(odd=True), before=st.booleans(), data=st.data())
def test_copies_of_a_punctuation_become_one_at_the_last(table: pa.Table, before: bool, data: st.DataObject) -> None:
    check(diamond(before), {"plain": table}, data, taps=["united"])


@given(table=plain(), data=st.data())
def test_tuples_at_equal_positions_have_punctuations_of_their_own(table: pa.Table, data: st.DataObject) -> None:
    app = ps.Application("equal_positions")
    stream = app.source("plain", schema=PLAIN)
    both = stream.functor("one", emit=SAME).union("both", stream.functor("two", emit={**SAME, "n": "n + 1"}))
    left, right = both.punctor("marks", "n = 1").split("parts", {"left": "x > 0", "right": None})
    again = left.union("again", right)
    again.aggregate("segments", window=ps.sliding(punctuation=2), emit=GROUPED).sink("out")
    check(app, {"plain": table}, data, taps=["again"])


@given(one=plain(odd=True), two=plain(odd=True), data=st.data())
def test_sources_are_merged_by_stamp_then_place_then_sequence(
    one: pa.Table, two: pa.Table, data: st.DataObject
) -> None:
    app = ps.Application("merged")
    first = app.source("first", schema=PLAIN, stamp="s")
    first.sink("raw")
    second = app.source("second", schema={**PLAIN, "n": "int64 not null"}, rate_tuples_s=1.5)
    third = app.source("third", schema=PLAIN, stamp="n")
    renamed = second.functor("renamed", emit=SAME)
    first.union("all", renamed, third, first).sink("out")
    check(app, {"first": one, "second": two, "third": one}, data)


@given(one=plain(odd=True), two=plain(odd=True), data=st.data())
def test_joins_over_every_kind_of_window(one: pa.Table, two: pa.Table, data: st.DataObject) -> None:
    per_group = data.draw(st.booleans())
    windows = [
        ps.sliding(count=data.draw(st.sampled_from([1, 2, 5])), per_group=per_group),
        ps.sliding(time_s=data.draw(st.sampled_from([1.0, 3.5])), on="s", per_group=per_group),
        ps.sliding(delta=data.draw(st.sampled_from([0.5, 20.0])), on="x", per_group=per_group),
    ]
    choices: list[Any] = ["k", ["k", "n"], [("x", "x")]] if per_group else [None, "k"]
    on = data.draw(st.sampled_from(choices))
    app = ps.Application("joined")
    left, right = app.source("left_side", schema=PLAIN, stamp="s"), app.source("right_side", schema=PLAIN, stamp="s")
    windows_of_sides = st.sampled_from(windows)
    left.join(
        "pairs", right, left_window=data.draw(windows_of_sides), right_window=data.draw(windows_of_sides),
        on=on, where=data.draw(st.sampled_from([None, "left.x < right.x"])), emit=PAIRED,
    ).sink("out")  # fmt: skip
    check(app, {"left_side": one, "right_side": two}, data)


@given(table=plain(), data=st.data())
def test_keys_of_joins_meet_whatever_their_width_and_coding(table: pa.Table, data: st.DataObject) -> None:
    app = ps.Application("key_types")
    one = app.source("one", schema=PLAIN, stamp="s")
    two = app.source("two", schema={"word": "string", "small": "int8", "s": "float64"}, stamp="s")
    window = ps.sliding(count=5)
    emit = {"k": "k", "word": "word", "small": "small + n"}
    on = [("k", "word"), ("n", "small")]
    one.join("pairs", two, left_window=window, right_window=window, on=on, emit=emit).sink("out")
    on = [("word", "k"), ("small", "n")]
    two.join("swapped", one, left_window=window, right_window=window, on=on, emit=emit).sink("other_way")
    other = pa.table({"word": table["k"].cast(pa.string()), "small": table["n"].cast(pa.int8()), "s": table["s"]})
    check(app, {"one": table, "two": other}, data)


@given(table=plain(odd=True), before=st.booleans(), again=st.booleans(), data=st.data())
def test_marks_among_the_results_of_a_mark(table: pa.Table, before: bool, again: bool, data: st.DataObject) -> None:
    """Results of the second window meet those of the first."""
    app = ps.Application("stages")
    marked = app.source("plain", schema=PLAIN, stamp="s").punctor("marks", "n > 1", before=before)
    first = marked.aggregate("first", window=ps.sliding(punctuation=3), by="k", emit=GROUPED)
    more = first.punctor("more", "n > 1", before=again)
    second = more.aggregate("second", window=ps.sliding(punctuation=2), by="n", emit=GROUPED)
    second.sink("seconds")
    second.union("both", first).sink("out")
    check(app, {"plain": table}, data)
