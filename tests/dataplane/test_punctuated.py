"""Windows by punctuation and by key on several replicas: equal to the in-process engine whatever is changed or dies."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.app.graph import Graph
from penstock.block.schema import schema_of
from penstock.plan.elements.layout import layout_of
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed
from tests.dataplane.plane import SLOTS, Fusions, Plane
from tests.dataplane.test_clock import median
from tests.dataplane.test_graphs import assert_equal
from tests.dataplane.test_migration import check_in_order
from tests.reference.python_functions import plain_rows
from tests.reference.streams import TRADES, trades

ROWS = {"key": "any(key)", "all": "collect(n)", "x": "sum(x)", "mean": "avg(x)", "last": "last(name)", "n": "count()"}
GROUPED = {"key": "any(key)", "x": "sum(x)", "n": "sum(n)", "flag": "last(flag)"}
SEGMENT = ps.tumbling(punctuation=True)
KILLS = st.sampled_from([0.0, 0.2])
Make = Callable[[Any], ps.Application]


def marked(app: ps.Application, *, before: bool = False) -> ps.Stream:
    return app.source("trades", schema=TRADES).punctor("marks", "n % 3 = 0", before=before)


def by_key(window: Any) -> ps.Application:
    """The results go on to whoever hears no marks, by another key."""
    app = ps.Application("segments")
    results = marked(app).aggregate("segments", window=window, by="key", emit=ROWS)
    results.sink("out")
    emit = {"n": "sum(n)", "x": "last(x)"}
    results.aggregate("again", window=ps.sliding(count=2, per_group=True), by="last", emit=emit).sink("counted")
    return app


def behind_a_key(window: Any) -> ps.Application:
    """Each replica of a window by key makes marks of its own results, and all replicas of the next hear all."""
    app = ps.Application("behind")
    counted = app.source("trades", schema=TRADES).aggregate(
        "counted", window=ps.sliding(count=2, per_group=True), by="name", emit=GROUPED
    )
    same = {name: name for name in GROUPED}
    other = {"key": "key", "x": "0 - x", "n": "n + 1", "flag": "not flag"}
    twice = counted.functor("twice", emit=[same, other])
    twice.punctor("marks", "flag", before=True).aggregate("segments", window=window, by="key", emit=GROUPED).sink("out")
    return app


def three_stages(window: Any) -> ps.Application:
    """Marks go on behind results, once: to windows by another key, and to one over the whole stream."""
    app = ps.Application("stages")
    first = marked(app, before=True).aggregate("first", window=window, by="key", emit=GROUPED)
    more = first.functor("some", where="n < 5 or flag", emit={**{n: n for n in GROUPED}, "side": "n % 2"})
    more = more.punctor("more", "x > 3")
    second = more.aggregate(
        "second", window=ps.sliding(punctuation=2), by="side", emit={"side": "any(side)", "keys": "collect(key)"}
    )
    second.sink("out")
    first.aggregate(
        "whole", window=ps.sliding(punctuation=3, every=2), emit={"keys": "collect(key)", "x": "sum(x)"}
    ).sink("all")
    first.sort("sorted", "x", window=SEGMENT).sink("in_order")
    return app


def copies(window: Any) -> ps.Application:
    """Copies of the marks become one again, behind windows by key and beside them."""
    app = ps.Application("copies")
    some, rest = marked(app).split("parts", {"some": "x > 0", "rest": None})
    results = some.aggregate("results", window=window, by="key", emit=GROUPED)
    both = results.union("both", rest.functor("plain", emit={name: name for name in GROUPED}))
    both.sink("out")
    both.aggregate("segments", window=SEGMENT, by="key", emit=GROUPED).sink("segmented")
    return app


def merged_again(window: Any) -> ps.Application:
    """Results meet the tuples that they came from."""
    app = ps.Application("merged")
    some, rest = marked(app).split("parts", {"some": "x > 0", "rest": None})
    results = some.aggregate("results", window=window, by="key", emit=GROUPED)
    results.union("both", rest.functor("plain", emit={name: name for name in GROUPED})).sink("out")
    pairs = {"key": "left.key", "a": "left.x", "b": "right.x"}
    one = ps.sliding(count=2, per_group=True)
    results.join("pairs", rest, left_window=one, right_window=one, on="key", emit=pairs).sink("paired")
    return app


def functions(window: Any) -> ps.Application:
    app = ps.Application("medians")
    own = {"median": ps.aggregate_function(median, returns="float64")}
    emit = {"key": "any(key)", "m": "median(x)", "words": "count_distinct(name)"}
    marked(app).aggregate("medians", window=window, by=["key", "flag"], emit=emit, functions=own).sink("out")
    return app


MADE = [by_key, behind_a_key, three_stages, copies, merged_again, functions]
windows = st.sampled_from(
    [SEGMENT, ps.sliding(punctuation=1), ps.sliding(punctuation=3), ps.sliding(punctuation=2, every=2, per_group=True)]
)


@pytest.mark.parametrize("make", MADE)
@given(table=trades(), window=windows, seed=st.integers(0, 2**32), kills=KILLS, threads=st.sampled_from([False, True]))
@settings(max_examples=6)
def test_by_key(make: Make, table: pa.Table, window: Any, seed: int, kills: float, threads: bool) -> None:
    graph = make(window).graph
    assert layout_of(graph, ("results", "segments") if make is copies else ()).event_time_elements
    assert_equal(graph, {"trades": table}, seed, kills, threads=threads)


def many(seed: int, rows: int = 110) -> pa.Table:
    chance = random.Random(seed)
    found = [
        {"key": chance.choice("abcdefgh"), "name": chance.choice("xy"), "x": chance.uniform(-9, 9), "u": i,
         "n": chance.randint(-9, 9), "flag": chance.random() < 0.2, "t": i * 100_000}
        for i in range(rows)
    ]  # fmt: skip
    return pa.Table.from_pylist(found, schema_of(TRADES))


@pytest.mark.parametrize("make", MADE)
def test_longer_streams(make: Make) -> None:
    for seed, window in enumerate([SEGMENT, ps.sliding(punctuation=3, every=2)]):
        assert_equal(make(window).graph, {"trades": many(seed)}, seed, 0.05)


@pytest.mark.parametrize("fusions", ["one", "all"])
@pytest.mark.parametrize("make", MADE)
@given(table=trades(), window=windows, seed=st.integers(0, 2**32), kills=KILLS, threads=st.sampled_from([False, True]))
@settings(max_examples=4)
def test_every_fusion(
    make: Make, fusions: Fusions, table: pa.Table, window: Any, seed: int, kills: float, threads: bool
) -> None:
    assert_equal(make(window).graph, {"trades": table}, seed, kills, threads=threads, fusions=fusions)


@pytest.mark.parametrize("seed", range(2))
def test_slots_that_move_between_hosts(seed: int) -> None:
    check_in_order(three_stages(ps.sliding(punctuation=2)).graph, many(seed), seed, 0.1)


@pytest.mark.parametrize("at", ["same", "several"])
def test_marks_where_blocks_begin_and_where_no_tuple_passes(at: str) -> None:
    """Marks of tuples that are dropped, some of them at one place, fire the groups of replicas that have no tuples."""
    app = ps.Application("dropped")
    source = app.source("trades", schema=TRADES).punctor("marks", "flag", before=at == "several")
    again = source.punctor("again", "n % 2 = 0")
    kept = again.functor("kept", where="not flag and n % 5 <> 0", emit={name: name for name in GROUPED})
    kept.aggregate("segments", window=ps.sliding(punctuation=3), by="key", emit=GROUPED).sink("out")
    for seed in range(3):
        assert_equal(app.graph, {"trades": many(seed, 90)}, seed, 0.1)


@pytest.mark.parametrize("by", [None, "key"])
@pytest.mark.parametrize("fusions", ["none", "all"])
def test_results_of_later_stages_stand_behind_all_that_came_of_earlier_ones(by: str | None, fusions: Fusions) -> None:
    """Marks between the results of a punctuation fire before it does."""
    app = ps.Application("stages")
    first = marked(app, before=True).aggregate("first", window=ps.sliding(punctuation=3), by="key", emit=GROUPED)
    more = first.punctor("more", "x > 3")
    emit = {"n": "count()", "keys": "collect(key)"}
    more.aggregate("second", window=ps.sliding(punctuation=2), by=by, emit=emit).sink("out")
    for seed in range(3):
        assert_equal(app.graph, {"trades": many(seed, 40)}, seed, 0.1, fusions=fusions)
    old = replace(app.graph, punctuates_by_key=False)
    assert_equal(old, {"trades": many(1, 40)}, 1, 0.0)


class _Old:
    """Is pickled as earlier versions pickled a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __reduce__(self) -> tuple[Any, ...]:
        return object.__new__, (Graph,), [self.graph.name, self.graph.operators, self.graph.requests]


class _Part(Plane):
    """Runs the batches from one on, up to another one."""

    batches, begin = range(0), dict[str, int]()

    def _run_batches(self) -> None:
        self._start = self.begin or dict.fromkeys(self.cuts.sources, 0)
        for batch in self.batches:
            self._end = self.cuts.ends(self._start, 0.0, 10)
            if self._end == self._start:
                return
            self.run(None, batch)  # type: ignore[arg-type]
            self._start = self._end


def test_a_checkpoint_of_before_goes_on_with_one_replica(tmp_path: Path) -> None:
    """It has no word on how windows by punctuation run; its state of them is in one part, and stays so."""
    graph, table = by_key(ps.sliding(punctuation=3)).graph, many(3)
    first = _Part(replace(graph, punctuates_by_key=False), {"trades": table}, tmp_path, 5, 0.0)
    first.batches = range(7)
    first.run_all()
    now = replace(first.fixed.graph, punctuates_by_key=True)

    def as_before(fixed: Fixed, about: str) -> bytes:
        return dumps_for_workers(replace(fixed, graph=_Old(now)), about)  # type: ignore[arg-type]

    Checkpoint(tmp_path / "checkpoint").fix(now, slots=SLOTS, now_s=0.0, dumps=as_before)
    second = _Part(now, None, tmp_path, 6, 0.0)
    second.epoch, second.unfused = first.epoch + 1, first.unfused
    second.batches, second.begin, second.blocks = range(7, 99), first._start, first.blocks
    got, _ = second.run_all()
    assert layout_of(now, second.unfused or ()).event_time_elements
    assert not layout_of(second.fixed.graph, second.unfused or ()).event_time_elements
    for name, expected in ps.evaluate(graph, {"trades": table}).items():
        assert expected.num_rows
        assert repr(plain_rows(got[name])) == repr(plain_rows(expected)), name
