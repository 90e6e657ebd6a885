"""The threaded element equals the one-threaded one, whatever the graph, the queues, the threads and the moment."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import event, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.app.graph import Graph
from penstock.element.threads.schedule import SCHEDULES
from penstock.plan.thread_setting import POLICIES
from tests.property.element.test_engine_graphs import GROUPED, SAME, STEPS, Sketch, diamond
from tests.reference.checking import assert_same_bits, evaluated, fed
from tests.reference.streams import PLAIN, plain
from tests.reference.threaded import (
    Disorder,
    assert_same,
    in_order,
    many_threads,
    one_threaded,
    pausing,
    queueable,
    restless,
    steps_of,
)


def placements(graph: Graph) -> st.SearchStrategy[frozenset[str]]:
    names = queueable(graph)
    return st.one_of(st.sampled_from([frozenset(), frozenset(names)]), st.sets(st.sampled_from(names)).map(frozenset))


def check_threads(graph: Graph, tables: dict[str, pa.Table], data: st.DataObject) -> None:
    """Random block size, queues, level, schedule, pauses, shards, and settings that change while it runs."""
    steps = steps_of(graph, tables, data.draw(st.sampled_from((1, 2, 5)), label="block_rows"))
    wanted = [stream for operator in graph.operators for stream in operator.outputs]
    levels = st.integers(0, 4)
    disorder = Disorder(
        seed=data.draw(st.integers(0, 99), label="seed"),
        pause_s=data.draw(st.sampled_from((0.0, 0.001)), label="pause_s"),
        settings=data.draw(st.lists(st.tuples(levels, placements(graph)), max_size=6), label="settings"),
        options={
            "schedule": data.draw(st.sampled_from(sorted(SCHEDULES)), label="schedule"),
            "shards": data.draw(st.sampled_from((None, 1, 3)), label="shards"),
            "ordered": data.draw(st.booleans(), label="ordered"),
            "blocks_per_thread": data.draw(st.integers(1, 4), label="blocks_per_thread"),
        },
    )
    threads, queued = data.draw(levels, label="threads"), data.draw(placements(graph), label="queued")
    found, expected = many_threads(graph, steps, wanted, disorder, threads, queued), one_threaded(graph, steps, wanted)
    if disorder.options["ordered"]:
        assert_same(found, expected)
    else:
        assert_same(in_order(found), in_order(expected))


@settings(max_examples=4 * settings().max_examples)
@given(data=st.data())
def test_random_graphs(data: st.DataObject) -> None:
    sources = data.draw(st.integers(1, 3), label="sources")
    sketch = Sketch(data, sources)
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8), label="steps"):
        sketch.grow(step)
    sketch.streams[-1].sink("out")
    tables = {f"source{i}": data.draw(plain(most=12)) for i in range(sources)}
    check_threads(sketch.app.graph, tables, data)


@settings(max_examples=2 * settings().max_examples)
@given(data=st.data())
def test_steps_that_go_straight_between_others(data: st.DataObject) -> None:
    sketch = Sketch(data, 1)
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=6), label="steps"):
        sketch.grow(step)
    mapped = sketch.streams[-1].map("mapped", picky, PLAIN, per_tuple=True)
    mapped.operator("hashed", Running(), schema={"k": "symbol", "n": "int64"}, by="k").sink("out")
    graph = sketch.app.graph
    table = pa.concat_tables([data.draw(plain(most=8), label="table")] * 5)
    steps = steps_of(graph, {"source0": table}, data.draw(st.sampled_from((1, 2))))
    wanted = [stream for operator in graph.operators for stream in operator.outputs]
    queues = st.tuples(st.integers(0, 3), placements(graph), st.just(0))
    none = st.tuples(st.integers(0, 3), st.just(frozenset[str]()), st.integers(1, 4))
    changes = data.draw(st.lists(queues | none, min_size=20, max_size=20), label="changes")
    make = pausing(data.draw(st.integers(0, 99)), data.draw(st.sampled_from((0.0, 0.001))))
    found, inline = restless(graph, steps, wanted, make, changes)
    event(f"went straight: {min(inline, 5)}")
    assert_same(found, one_threaded(graph, steps, wanted))


@given(table=plain(odd=True), before=st.booleans(), data=st.data())
def test_copies_of_punctuations_on_several_threads(table: pa.Table, before: bool, data: st.DataObject) -> None:
    check_threads(diamond(before).graph, {"plain": table}, data)


bounds = {"most": st.integers(2, 4), "period_s": st.just(1e-4)}
from_one = st.builds(ps.ElasticThreads, least=st.just(1), policy=st.sampled_from(POLICIES), **bounds)
others = [policy for policy in POLICIES if policy != "multilevel"]
found = from_one | st.builds(ps.ElasticThreads, least=st.just(2), policy=st.sampled_from(others), **bounds)


@given(one=plain(odd=True), two=plain(odd=True), threads=st.integers(2, 3) | found, data=st.data())
def test_the_engine_gives_on_threads_what_it_gives_on_one(
    one: pa.Table, two: pa.Table, threads: int | ps.ElasticThreads, data: st.DataObject
) -> None:
    app = ps.Application("fed")
    left, right = (app.source(name, schema=PLAIN, stamp="s") for name in ("left_side", "right_side"))
    low, high = left.punctor("marks", "n = 1").split("parts", {"low": "x < 0.5", "high": None})
    low.union("both", high.delay("late", 1.0), right).sink("out")
    tables = {"left_side": one, "right_side": two}
    taps = [stream for operator in app.graph.operators for stream in operator.outputs]
    assert_same_bits(fed(app.graph, tables, data, taps, threads=threads), evaluated(app.graph, tables, 8192, taps))


class Running:
    """A user-defined operator whose results depend on the order of its key's tuples."""

    def state(self) -> list[int]:
        return [0]

    def process(self, row: dict[str, object], state: list[int]) -> dict[str, object]:
        state[0] = state[0] * 31 + int(row["n"] or 0)  # type: ignore[call-overload]
        return {"k": row["k"], "n": state[0] % 1_000_003}


def picky(row: dict[str, object]) -> dict[str, object]:
    return {"k": row["k"], "x": 1.0 / float(row["x"] or 0), "n": row["n"], "s": row["s"]}  # type: ignore[arg-type]


@given(table=plain(odd=True), data=st.data())
def test_functions_of_the_user_and_their_dead_letters(table: pa.Table, data: st.DataObject) -> None:
    app = ps.Application("functions")
    mapped = app.source("plain", schema=PLAIN).map("mapped", picky, PLAIN, per_tuple=True)
    mapped.functor("numbered", emit={**SAME, "n": "seq_num()"}).sink("numbers")
    mapped.operator("hashed", Running(), schema={"k": "symbol", "n": "int64"}, by="k").sink("hashes")
    mapped.aggregate("grouped", window=ps.sliding(count=3, per_group=True), by="k", emit=GROUPED).sink("groups")
    check_threads(app.graph, {"plain": table}, data)


@given(table=plain(), data=st.data())
def test_shards_keep_the_order_of_the_stream(table: pa.Table, data: st.DataObject) -> None:
    app = ps.Application("sharded")
    stream = app.source("plain", schema=PLAIN, stamp="s").punctor("marks", "n = 1")
    window = data.draw(st.sampled_from([ps.sliding(count=2, per_group=True), ps.tumbling(count=2, per_group=True)]))
    keys = data.draw(st.sampled_from(["k", ["k", "n"], "x"]))
    emit = GROUPED if data.draw(st.booleans()) else {**GROUPED, "n": "count_distinct(x)"}
    grouped = stream.aggregate("grouped", window=window, by=keys, emit=emit)
    again = grouped.aggregate("again", window=ps.sliding(count=3, every=2, per_group=True), by="k", emit=GROUPED)
    again.union("both", grouped).aggregate("segments", window=ps.tumbling(punctuation=True), by="k", emit=GROUPED).sink(
        "out"
    )
    check_threads(app.graph, {"plain": table}, data)
