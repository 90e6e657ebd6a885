"""Sources that meet without stamps or rates: in the order of micro-batches, and nothing is held back."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.plan.elements.merged_sources import goes_by_micro_batch, needs_intake
from tests.dataplane.rows_plane import NOW_S, Delivery, RowsPlane

SCHEMA = {"who": "int64", "n": "int64"}


def table(who: int, first: int, count: int) -> pa.Table:
    return pa.table({"who": [who] * count, "n": range(first, first + count)})


def merged(**settings: Any) -> ps.Application:
    """Two directories of files, merged; `slow_` and `fast_` settings are of the one and the other."""
    app = ps.Application("merged")
    fast, slow = (
        app.source(
            name, ps.sources.csv(f"in-{name}"), SCHEMA,
            **{key.removeprefix(f"{name}_"): value for key, value in settings.items() if key.startswith(name)},
        )
        for name in ("fast", "slow")
    )  # fmt: skip
    fast.union("both", slow).sink("out")
    return app


def ran(app: ps.Application, deliveries: list[Delivery], seed: int = 0, kills: float = 0.0) -> list[tuple[int, int]]:
    with tempfile.TemporaryDirectory() as directory:
        tables, _ = RowsPlane(app.graph, deliveries, Path(directory), seed, kills).run_all()
    return [(row["who"], row["n"]) for row in tables["out"].to_pylist()]


def test_a_slow_source_without_stamps_holds_nothing_of_a_fast_one() -> None:
    deliveries = [{"fast": [table(0, i * 1000, 1000)], "slow": [table(1, i * 10, 10)]} for i in range(10)]
    out = ran(merged(), deliveries)
    expected = [
        (who, n) for i in range(10) for who, count in ((0, 1000), (1, 10)) for n in range(i * count, (i + 1) * count)
    ]
    assert len(out) == 10_100
    assert out == expected  # micro-batch, place in the program, sequence


def test_the_timeline_of_micro_batches_in_the_semantics() -> None:
    deliveries: list[Delivery] = [
        {"fast": [table(0, 0, 3)], "slow": [table(1, 0, 1)]}, {"fast": [table(0, 3, 4)]}, {"slow": [table(1, 1, 1)]},
    ]  # fmt: skip
    names = " ".join(f"{'fs'[who]}{n}" for who, n in ran(merged(), deliveries))
    assert names == "f0 f1 f2 s0 f3 f4 f5 f6 s1"


@given(
    sizes=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6),
    seed=st.integers(0, 2**32),
    kills=st.sampled_from([0.0, 0.2]),
)
def test_the_order_of_micro_batches_is_the_same_whatever_runs_again(
    sizes: list[tuple[int, int]], seed: int, kills: float
) -> None:
    deliveries: list[Delivery] = []
    expected, counts = [], [0, 0]
    for size in sizes:
        delivery = {}
        for who, name in enumerate(("fast", "slow")):
            delivery[name] = [table(who, counts[who], size[who])]
            expected += [(who, n) for n in range(counts[who], counts[who] + size[who])]
            counts[who] += size[who]
        deliveries.append(delivery)
    assert ran(merged(), deliveries, seed, kills) == expected


def test_one_source_without_a_stamp_has_all_go_by_micro_batch() -> None:
    app = merged(fast_stamp="n")
    assert goes_by_micro_batch(app.graph)
    deliveries: list[Delivery] = [{"fast": [table(0, 5, 2)]}, {"slow": [table(1, 0, 2)], "fast": [table(0, 2, 1)]}]
    assert ran(app, deliveries) == [(0, 5), (0, 6), (0, 2), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    "settings", [{"fast_stamp": "n", "slow_stamp": "n"}, {"fast_rate_tuples_s": 2.0, "slow_stamp": "n"}]
)
def test_sources_with_stamps_or_rates_are_merged_by_them(settings: dict[str, Any]) -> None:
    app = merged(**settings)
    assert needs_intake(app.graph)
    out = ran(app, [{"fast": [table(0, 0, 6)], "slow": [table(1, 0, 2)]}])
    assert out[0] == (0, 0)
    assert (1, 1) in out
    assert (0, 5) not in out  # at 5.0, or 2.5: behind what the slow source may still deliver


def test_a_trace_beside_rows_without_a_stamp_is_taken_as_it_comes() -> None:
    app = ps.Application("beside")
    trace = app.source("trace", ps.sources.trace(rate="unbounded", total=40))
    rows = app.source("rows", ps.sources.csv("in"), {"seq": "int64"})
    trace.functor("numbers", emit={"seq": "seq"}).union("both", rows).sink("out")
    with tempfile.TemporaryDirectory() as directory:
        deliveries: list[Delivery] = [{}, {"rows": [pa.table({"seq": [100]})]}, {}, {}]
        tables, _ = RowsPlane(app.graph, deliveries, Path(directory)).run_all()
    assert tables["out"].column("seq").to_pylist() == [*range(20), 100, *range(20, 40)]


def test_delays_run_on_the_time_at_which_batches_were_planned() -> None:
    app = ps.Application("delayed")
    one, two = (app.source(name, ps.sources.csv(name), SCHEMA) for name in ("one", "two"))
    one.delay("later", 1.5).union("both", two).sink("out")
    assert not needs_intake(app.graph)
    deliveries: list[Delivery] = [
        {"one": [table(0, 0, 2)], "two": [table(1, 0, 2)]}, *({"two": [table(1, n, 1)]} for n in (2, 3)),
    ]  # fmt: skip
    assert ran(app, deliveries) == [(1, 0), (1, 1), (1, 2), (0, 0), (0, 1), (1, 3)]


def test_planning_times_rise_where_the_clock_is_set_back() -> None:
    with tempfile.TemporaryDirectory() as directory:
        plane = RowsPlane(merged().graph, [{"fast": [table(0, n, 1)]} for n in range(3)], Path(directory))
        plane.clock = lambda: NOW_S - len(plane.plans)
        tables, _ = plane.run_all()
    assert tables["out"].column("n").to_pylist() == [0, 1, 2]
    times = [plan.planned_s for plan in plane.plans]
    assert times == sorted(set(times))
