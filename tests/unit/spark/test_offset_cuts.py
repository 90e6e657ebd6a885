"""Where micro-batches of sources that are known by offsets may end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.block.position import EVERYTHING, Frontier
from penstock.connectors.trace.offsets import TraceOffsets
from penstock.runtime.sources.offset_reader import Cuts


def merged(rates: tuple[float, float], totals: tuple[int | None, int | None]) -> Graph:
    app = ps.Application("merged")
    one, two = (
        app.source(f"s{i}", ps.sources.trace(rate="unbounded", keys=2, total=total), rate_tuples_s=rate)
        for i, (rate, total) in enumerate(zip(rates, totals, strict=True))
    )
    one.union("both", two).sink("out")
    return app.graph


def test_merged_sources_end_at_one_place_in_the_order() -> None:
    cuts = Cuts(merged((1.0, 4.0), (None, None)))
    ends = cuts.ends({"s0": 0, "s1": 0}, 0.0, 20)
    assert ends == {"s0": 3, "s1": 10}  # s1 has come to 2.25 s, and s0's tuple at 3 s may come after one at 2.5 s
    assert cuts.frontier(ends) == Frontier(2.25, 1, 9)


def test_a_finished_source_holds_no_other_back() -> None:
    cuts = Cuts(merged((1.0, 1.0), (2, 30)))
    ends = cuts.ends({"s0": 2, "s1": 2}, 0.0, 20)
    assert ends == {"s0": 2, "s1": 12}
    assert cuts.frontier({"s0": 2, "s1": 30}) == EVERYTHING
    assert cuts.frontier({"s0": 0, "s1": 0}) is None


def test_sources_that_are_not_merged_do_not_wait() -> None:
    app = ps.Application("apart")
    for i, total in enumerate((5, 100)):
        app.source(f"s{i}", ps.sources.trace(rate="unbounded", keys=2, total=total)).sink(f"out{i}")
    cuts = Cuts(app.graph)
    assert cuts.ends({"s0": 0, "s1": 0}, 0.0, 40) == {"s0": 5, "s1": 20}
    assert cuts.frontier({"s0": 5, "s1": 20}) is None


def test_nothing_is_taken_before_it_arrives() -> None:
    app = ps.Application("paced")
    app.source("s", ps.sources.trace(rate="constant", rate_tuples_s=100, keys=2)).sink("out")
    cuts = Cuts(app.graph)
    assert cuts.ends({"s": 0}, 0.5, 1_000)["s"] == pytest.approx(50, abs=1)
    assert cuts.ends({"s": 60}, 0.5, 1_000)["s"] == 60


@given(rate=st.floats(1e-3, 1e6), offset=st.integers(0, 10**9), inclusive=st.booleans())
def test_counts_agree_with_stamps_to_the_bit(rate: float, offset: int, inclusive: bool) -> None:
    source = merged((rate, 1.0), (None, None)).sources[0]
    trace = TraceOffsets(source.connector, source, 0)
    count = trace.count(trace.stamp(offset), inclusive=inclusive)
    around = np.arange(max(0, offset - 3), offset + 4)
    stamps = around / rate
    before = stamps <= trace.stamp(offset) if inclusive else stamps < trace.stamp(offset)
    assert count == around[0] + int(before.sum())


@given(data=st.data(), rates=st.tuples(st.floats(0.1, 50), st.floats(0.1, 50)), caps=st.lists(st.integers(2, 60)))
def test_batches_are_whole_stretches_of_the_merged_order(
    data: st.DataObject, rates: tuple[float, float], caps: list[int]
) -> None:
    totals = data.draw(st.tuples(st.integers(0, 40), st.integers(0, 40)))
    cuts = Cuts(merged(rates, totals))
    order = sorted((n / rates[i], i, n) for i in (0, 1) for n in range(totals[i]))
    at, done = {"s0": 0, "s1": 0}, 0
    for cap in [*caps, 1_000, 1_000]:
        ends = cuts.ends(at, 0.0, cap)
        taken = {(i, n) for i in (0, 1) for n in range(at[f"s{i}"], ends[f"s{i}"])}
        assert {(i, n) for _, i, n in order[done : done + len(taken)]} == taken
        at, done = ends, done + len(taken)
    assert done == len(order)


def test_a_stamp_attribute_makes_stamps_unknown() -> None:
    graph = merged((1.0, 1.0), (5, 5))
    source = graph.sources[0]
    assert isinstance(source, Source)
    stamped = replace(graph, operators=(replace(source, stamp="seq"), *graph.operators[1:]))
    from penstock.plan.elements.merged_sources import needs_intake

    assert not needs_intake(graph)
    assert needs_intake(stamped)
