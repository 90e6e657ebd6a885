"""Every fusion gives the results of the in-process engine, to the bit, and so does changing it at every batch."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.block.schema import schema_of
from tests.dataplane.plane import Fusions
from tests.dataplane.test_graphs import assert_equal
from tests.dataplane.test_operators import KEYED, aggregated, joined, numbered
from tests.property.element.test_engine_graphs import STEPS, Sketch
from tests.reference.checking import table_of
from tests.reference.streams import PLAIN, plain, trades

FUSIONS: list[Fusions] = ["one", "all"]
KILLS = st.sampled_from([0.0, 0.2])


@pytest.mark.parametrize("fusions", FUSIONS)
@given(
    data=st.data(), sources=st.integers(1, 3), seed=st.integers(0, 2**32), kills=KILLS,
    threads=st.sampled_from([False, False, True]),
)  # fmt: skip
@settings(max_examples=25)
def test_random_graphs(
    fusions: Fusions, data: st.DataObject, sources: int, seed: int, kills: float, threads: bool
) -> None:
    sketch = Sketch(data, sources)
    for step in data.draw(st.lists(st.sampled_from(STEPS), max_size=6), label="steps"):
        sketch.grow(step)
    for i, stream in enumerate(sketch.streams):
        stream.sink(f"sink{i}")
    tables = {f"source{i}": data.draw(plain()) for i in range(sources)}
    assert_equal(sketch.app.graph, tables, seed, kills, threads=threads, fusions=fusions)


@pytest.mark.parametrize("kind", KEYED)
@given(table=trades(), seed=st.integers(0, 2**32), kills=KILLS)
def test_windows(kind: str, table: pa.Table, seed: int, kills: float) -> None:
    assert_equal(aggregated(*KEYED[kind]).graph, {"trades": table}, seed, kills, fusions="all")


@pytest.mark.parametrize("make", [joined, numbered])
@given(table=trades(), seed=st.integers(0, 2**32), kills=KILLS)
def test_other_operators(make: Callable[[], ps.Application], table: pa.Table, seed: int, kills: float) -> None:
    assert_equal(make().graph, {"trades": table}, seed, kills, fusions="all")


def _three_sources() -> ps.Application:
    """Sources with stamps, a punctor that needs the whole stream, and sinks that a fusion may put anywhere."""
    app = ps.Application("three")
    one, two, three = (app.source(f"source{i}", schema=PLAIN, stamp="s") for i in range(3))
    marked = three.punctor("marked", "n = 1", before=True)
    counted = one.aggregate(
        "counted", window=ps.sliding(count=2, every=2, per_group=True), by="k",
        emit={"k": "any(k)", "x": "sum(x)", "n": "count()", "s": "max(s)"},
    )  # fmt: skip
    few = one.functor("few", where="n < 2", emit={name: name for name in PLAIN})
    for place, stream in enumerate((one, two, three, marked, few, counted, counted.delay("later", 0.0))):
        stream.sink(f"sink{place}")
    return app


def _rows(count: int) -> pa.Table:
    """Stamps that go back now and then."""
    rows = [{"k": "abc"[i % 3], "x": float(i), "n": i % 4 - 1, "s": float(i - 2 * (i % 5 == 4))} for i in range(count)]
    return table_of(rows, schema_of(PLAIN))


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_sinks_behind_other_elements_keep_the_order_of_a_whole_stream(seed: int, threads: bool) -> None:
    """Replicas of a stateless element pass on the numbers of blocks, and threads forget what they learned elsewhere."""
    tables = {"source0": _rows(8), "source1": _rows(1), "source2": _rows(9)}
    assert_equal(_three_sources().graph, tables, seed, 0.0, threads=threads, fusions="all")
