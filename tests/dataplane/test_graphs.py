"""Random graphs on the data plane equal the in-process engine: to the bit, in order, whatever is changed or dies."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.app.graph import Graph
from tests.dataplane.plane import Fusions, Plane
from tests.property.element.test_engine_graphs import STEPS, Sketch
from tests.reference.checking import letters_of
from tests.reference.python_functions import plain_rows
from tests.reference.streams import plain


def assert_equal(
    graph: Graph,
    tables: dict[str, pa.Table],
    seed: int,
    kills: float,
    *,
    threads: bool = False,
    fusions: Fusions = "none",
) -> Plane:
    expected = ps.evaluate(graph, tables)
    with tempfile.TemporaryDirectory() as directory:
        plane = Plane(graph, tables, Path(directory), seed, kills, threads=threads, fusions=fusions)
        got, letters = plane.run_all()
    for name, table in expected.items():
        assert repr(plain_rows(got[name])) == repr(plain_rows(table)), name
    assert sorted(map(repr, letters_of(letters))) == sorted(map(repr, letters_of(expected.dead_letters)))
    return plane


@given(data=st.data(), sources=st.integers(1, 3), seed=st.integers(0, 2**32), kills=st.sampled_from([0.0, 0.2]))
@settings(max_examples=60)
def test_random_graphs(data: st.DataObject, sources: int, seed: int, kills: float) -> None:
    sketch = Sketch(data, sources)
    for step in data.draw(st.lists(st.sampled_from(STEPS), max_size=6), label="steps"):
        sketch.grow(step)
    for i, stream in enumerate(sketch.streams):
        stream.sink(f"sink{i}")
    tables = {f"source{i}": data.draw(plain()) for i in range(sources)}
    assert_equal(sketch.app.graph, tables, seed, kills)
