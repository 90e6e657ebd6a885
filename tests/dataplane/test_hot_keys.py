"""Split slots: partial aggregates where blocks are, put together by the owner, with the same results."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.app.graph import Graph
from penstock.block.schema import schema_of
from penstock.errors import InputError
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.layout import layout_of
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.slots.hot_key_splitting import check_split, splittable
from tests.dataplane.test_graphs import assert_equal
from tests.reference.streams import TRADES, trades

PARTS = {
    "key": "any(key)", "n": "sum(n)", "tuples": "count()", "known": "count(x)", "low": "min(x)", "high": "max(x)",
    "first": "first(n)", "last": "last(x)", "u": "max(u)", "flag": "first(flag)", "end": "window_end()",
}  # fmt: skip


def aggregated(window: Any, emit: dict[str, str], *, sink: Any = None) -> Graph:
    app = ps.Application("hot")
    source = app.source("trades", schema=TRADES).functor("all", where="u >= 0 or u is null")
    source.aggregate("window", window=window, by="key", emit=emit).sink("out", sink)
    return app.graph


@pytest.mark.parametrize("window", [ps.tumbling(time_s=1, on="t"), ps.sliding(time_s=4, every_s=1, on="t")], ids=str)
@given(table=trades(), seed=st.integers(0, 2**32), kills=st.sampled_from([0.0, 0.2]))
def test_split_slots(window: Any, table: pa.Table, seed: int, kills: float) -> None:
    graph = aggregated(window, PARTS)
    assert splittable(graph, layout_of(graph)) == ("window",)
    assert_equal(graph, {"trades": table}, seed, kills)


def disordered(seed: int, rows: int = 160) -> pa.Table:
    """Few keys, and times that go back over the end of a pane every few tuples."""
    chance = random.Random(seed)
    clock, found = 0, []
    for _ in range(rows):
        clock += chance.choice([0, 100_000, 250_000, 250_000, 900_000])
        row = {"key": chance.choice("abcde"), "name": chance.choice("xy"), "x": chance.random(), "u": 1, "flag": True}
        late = chance.choice([0, 0, 0, 400_000, 1_100_000])
        found.append({**row, "n": chance.randint(-9, 9), "t": clock - late})
    return pa.Table.from_pylist(found, schema_of(TRADES))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("every_s", [1, 4])
def test_late_tuples_of_split_slots(every_s: int, seed: int) -> None:
    graph = aggregated(ps.sliding(time_s=4, every_s=every_s, on="t"), PARTS)
    table = disordered(seed)
    assert ps.evaluate(graph, {"trades": table}).dead_letters.num_rows > 3
    assert_equal(graph, {"trades": table}, seed, 0.1)


@pytest.mark.parametrize("seed", range(12))
def test_windows_behind_split_slots(seed: int) -> None:
    """Partials reach a pane behind the tuples of its own keys, and windows further on go by the order of results."""
    app = ps.Application("chained")
    bars = app.source("trades", schema=TRADES).aggregate(
        "bars", window=ps.tumbling(time_s=1, on="t"), by="key", emit={"n": "sum(n)", "t": "window_end()"}
    )
    emit = {"n": "any(n)", "list": "collect(n)"}
    bars.aggregate("again", window=ps.sliding(time_s=4, every_s=2, on="t"), by="n", emit=emit).sink("out")
    assert_equal(app.graph, {"trades": disordered(seed)}, seed, 0.0)


@given(table=trades(), seed=st.integers(0, 2**32))
def test_times_that_are_missing(table: pa.Table, seed: int) -> None:
    graph = aggregated(ps.tumbling(time_s=2, on="x"), {"key": "any(key)", "n": "count()"})
    assert_equal(graph, {"trades": table}, seed, 0.0)


@pytest.mark.parametrize(
    ("window", "emit", "sentence"),
    [
        (ps.tumbling(time_s=1, on="t"), {"x": "sum(x)"}, "have other bits when put together"),
        (ps.tumbling(time_s=1, on="t"), {"x": "avg(n)"}, "have other bits when put together"),
        (ps.tumbling(time_s=1, on="t"), {"x": "stddev(n)"}, "have other bits when put together"),
        (ps.tumbling(time_s=1, on="t"), {"x": "collect(n)"}, "or need all rows"),
        (ps.tumbling(count=4, per_group=True), {"n": "count()"}, "only aggregates over time windows by key"),
    ],
)
def test_what_cannot_be_split(window: Any, emit: dict[str, str], sentence: str) -> None:
    graph = aggregated(window, emit)
    configuration = default_configuration(pipeline_of(graph), 2)
    own = configuration.element("window")
    check_split(graph, configuration)
    with pytest.raises(InputError, match=f"the slots of element 'window' cannot be split: .*{sentence}"):
        check_split(graph, configuration.with_element(type(own)(own.name, own.replicas, own.route, (3,))))


def test_blocks_of_several_sources_are_not_split() -> None:
    app = ps.Application("several")
    one, two = (app.source(f"source{i}", schema=TRADES) for i in range(2))
    both = one.union("both", two)
    emit = {"key": "any(key)", "n": "sum(n)"}
    both.aggregate("window", window=ps.tumbling(time_s=1, on="t"), by="key", emit=emit).sink("out")
    graph = app.graph
    layout = layout_of(graph, ("window",))
    sender = layout.pipeline.element_of("both")
    assert splittable(graph, layout) == (("window",) if sender.scope == "stream" else ())
