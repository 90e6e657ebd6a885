"""Sources whose stamps are known only from their tuples: the intake holds what is ahead, and lets all go at the end."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.plan.elements.merged_sources import needs_intake
from tests.dataplane.plane import Plane
from tests.reference.python_functions import plain_rows


def merged(totals: tuple[int, int], delay_s: float) -> ps.Application:
    app = ps.Application("merged")
    one, two = (
        app.source(f"s{i}", ps.sources.trace(rate="unbounded", keys=5, total=total, seed=i), stamp="seq")
        for i, total in enumerate(totals)
    )
    later = one.delay("later", delay_s) if delay_s else one
    later.union("both", two).sink("out")
    window = ps.sliding(count=2, per_group=True)
    emit = {"ticker": "left.ticker", "a": "left.seq", "b": "right.seq"}
    one.join("pairs", two, left_window=window, right_window=window, on="ticker", emit=emit).sink("paired")
    return app


@given(
    totals=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    delay_s=st.sampled_from([0.0, 3.0, 100.0]),
    seed=st.integers(0, 2**32),
    kills=st.sampled_from([0.0, 0.2]),
)
def test_merged_by_stamps_of_their_own(totals: tuple[int, int], delay_s: float, seed: int, kills: float) -> None:
    app = merged(totals, delay_s)
    assert needs_intake(app.graph)
    expected = ps.evaluate(app)
    with tempfile.TemporaryDirectory() as directory:
        got, _ = Plane(app.graph, None, Path(directory), seed, kills).run_all()
    for name, table in expected.items():
        assert plain_rows(got[name]) == plain_rows(table), name


@pytest.mark.parametrize("block_rows", [1, 2, 7])
def test_marks_cross_an_exchange_even_where_no_tuple_does(block_rows: int) -> None:
    app = ps.Application("marked")
    source = app.source("plain", ps.sources.trace(rate="unbounded", keys=3, total=30))
    few = source.punctor("marks", "seq % 3 = 0").functor("few", where="seq % 5 = 0")
    few.aggregate("segments", window=ps.tumbling(punctuation=True), emit={"n": "count()"}).sink("out")
    with tempfile.TemporaryDirectory() as directory:
        plane = Plane(app.graph, None, Path(directory), 1, 0.0)
        plane.unfused = ("segments",)
        plane.block_rows = block_rows
        got, _ = plane.run_all()
    assert plain_rows(got["out"]) == plain_rows(ps.evaluate(app)["out"])
