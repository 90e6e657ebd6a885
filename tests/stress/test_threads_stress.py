"""Threads under stress: seconds in every run, minutes with PENSTOCK_STRESS=1 (`make stress`)."""

from __future__ import annotations

import os
import random
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.app.graph import Graph
from penstock.element.threads.schedule import SCHEDULES
from tests.property.element import test_threads as properties
from tests.reference.threaded import Disorder, assert_same, many_threads, one_threaded, queueable, steps_of

SECONDS = float(os.environ.get("PENSTOCK_STRESS_S", "120")) if os.environ.get("PENSTOCK_STRESS") else 1.5
QUOTES = {"k": "symbol", "x": "float64", "n": "int64", "s": "float64"}


class Hash:
    """Depends on the order of its key's tuples."""

    def state(self) -> list[int]:
        return [0]

    def process(self, row: dict[str, int], state: list[int]) -> dict[str, int]:
        state[0] = (state[0] * 31 + row["n"]) % 1_000_003
        return {"n": state[0]}


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    values = batch.column("x").to_numpy() * 2
    return batch.set_column(batch.schema.get_field_index("x"), "x", pa.array(values))


def busy_graph() -> Graph:
    """Two sources, stateless and stateful operators, a diamond with punctuations, a join, a union, a delay."""
    app = ps.Application("busy")
    one, two = app.source("one", schema=QUOTES, stamp="s"), app.source("two", schema=QUOTES, stamp="s")
    mapped = one.map("mapped", doubled, QUOTES)
    positive = mapped.functor("positive", where="x > 0.2", emit={"k": "k", "x": "x + 1", "n": "n", "s": "s"})
    grouped = {"k": "any(k)", "x": "sum(x)", "n": "count()", "s": "max(s)"}
    windowed = positive.aggregate("windowed", window=ps.sliding(count=5, per_group=True), by="k", emit=grouped)
    timed = positive.aggregate("timed", window=ps.tumbling(time_s=3, on="s"), by="k", emit=grouped)
    low, high = two.punctor("marks", "n = 3").split("parts", {"low": "x < 0.5", "high": None})
    united = low.load("busy", 50).union("united", high.delay("late", 0.5), windowed)
    united.aggregate("segments", window=ps.tumbling(punctuation=True), by="k", emit=grouped).sink("marked")
    three, pair = ps.sliding(count=3, per_group=True), ps.sliding(count=2, per_group=True)
    joined = positive.join(
        "joined", two, left_window=three, right_window=pair, on="k",
        emit={"k": "left.k", "x": "left.x * right.x", "n": "right.n", "s": "left.s"},
    )  # fmt: skip
    joined.functor("numbered", emit={"i": "seq_num()", "x": "x"}).sink("pairs")
    two.operator("hashed", Hash(), schema={"n": "int64"}, by="k").sink("hashes")
    timed.sort("sorted", "x", window=ps.tumbling(count=4)).sink("in_order")
    return app.graph


def quotes(chance: np.random.Generator, rows: int) -> pa.Table:
    words = pa.array([f"key{i}" for i in range(9)])
    return pa.table(
        {
            "k": pa.DictionaryArray.from_arrays(pa.array(chance.integers(0, 9, rows), pa.int32()), words),
            "x": chance.random(rows),
            "n": chance.integers(0, 10, rows),
            "s": np.sort(chance.random(rows) * rows / 50),
        }
    )


def disturbed(graph: Graph, chance: random.Random) -> tuple[Disorder, int, frozenset[str]]:
    """Settings that change all the time; every third one has no thread or no queue."""
    names = queueable(graph)
    most = chance.choice((2, 4, 8))

    def queues() -> frozenset[str]:
        return frozenset(chance.sample(names, chance.choice((0, 1, len(names) // 2, len(names)))))

    settings = [(chance.randint(0, most), queues()) for _ in range(400)]
    options = {
        "schedule": chance.choice(sorted(SCHEDULES)), "shards": chance.choice((None, 1, 2, 4)),
        "blocks_per_thread": chance.randint(1, 4), "sample_period_s": 0.001,
    }  # fmt: skip
    disorder = Disorder(chance.randrange(1000), chance.choice((0.0, 0.0, 0.0005)), settings, options)
    return disorder, chance.randint(0, most), queues()


def test_a_busy_element_under_changing_settings() -> None:
    graph, seed = busy_graph(), 0
    wanted = [operator.name for operator in graph.sinks]
    deadline_s = time.monotonic() + SECONDS
    while seed == 0 or time.monotonic() < deadline_s:
        numbers, chance = np.random.default_rng(seed), random.Random(seed)
        tables = {name: quotes(numbers, 1500) for name in ("one", "two")}
        steps = steps_of(graph, tables, chance.choice((7, 64, 300)))
        disorder, threads, queued = disturbed(graph, chance)
        found = many_threads(graph, steps, wanted, disorder, threads, queued)
        assert_same(found, one_threaded(graph, steps, wanted))
        seed += 1
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("penstock")]


@pytest.mark.skipif(
    not os.environ.get("PENSTOCK_STRESS"), reason="runs for minutes; the property tests have a selection"
)
def test_random_graphs_over_and_over() -> None:
    deadline_s = time.monotonic() + SECONDS
    while time.monotonic() < deadline_s:
        properties.test_random_graphs()
        properties.test_shards_keep_the_order_of_the_stream()
