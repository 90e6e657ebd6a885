"""A bounded sink in memory keeps the newest tuples, and counts what it dropped."""

from __future__ import annotations

import logging

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.connectors.memory import BoundedTuples
from penstock.connectors.sinks.sink_port import MemoryBounds

SCHEMA = pa.schema([("n", pa.int64())])


def batches(sizes: list[int]) -> list[pa.RecordBatch]:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    columns = [pa.array(range(s, s + size), pa.int64()) for s, size in zip(starts, sizes, strict=True)]
    return [pa.record_batch([column], schema=SCHEMA) for column in columns]


@given(sizes=st.lists(st.integers(0, 20), max_size=12), most=st.integers(1, 30))
def test_the_newest_tuples_stay_and_the_others_are_counted(sizes: list[int], most: int) -> None:
    tuples = BoundedTuples("out", MemoryBounds(max_rows=most, max_mb=None))
    for batch in batches(sizes):
        tuples.add(batch)
    total = sum(sizes)
    assert tuples.table(SCHEMA).column("n").to_pylist() == list(range(max(0, total - most), total))
    assert tuples.dropped == max(0, total - most)


def test_the_bytes_of_a_long_stream_stay_within_the_bound() -> None:
    tuples = BoundedTuples("out", MemoryBounds(max_rows=None, max_mb=0.5))
    for batch in batches([9_000] * 40):  # 72 kB each
        tuples.add(batch)
        assert tuples.table(SCHEMA).nbytes <= 0.5 * (1 << 20)
    table = tuples.table(SCHEMA)
    assert table.column("n").to_pylist() == list(range(tuples.dropped, 360_000))
    assert table.nbytes > 0.4 * (1 << 20)


def test_one_batch_that_does_not_fit_is_cut() -> None:
    tuples = BoundedTuples("out", MemoryBounds(max_rows=10, max_mb=None))
    before = pa.total_allocated_bytes()
    tuples.add(batches([100_000])[0])
    assert tuples.table(SCHEMA).column("n").to_pylist() == list(range(99_990, 100_000))
    assert pa.total_allocated_bytes() - before < 10_000, "the memory of what was dropped is free"


def test_dropping_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    tuples = BoundedTuples("prices", MemoryBounds(max_rows=3, max_mb=None))
    with caplog.at_level(logging.WARNING):
        for batch in batches([2] * 5):
            tuples.add(batch)
    assert len(caplog.records) == 1
    assert "sink 'prices' keeps the newest 3 tuples in memory and drops older ones" in caplog.text


def test_there_is_a_bound_unless_none_is_asked_for() -> None:
    assert (ps.sinks.memory().max_rows, ps.sinks.memory().max_mb) == (10_000_000, 1024.0)
    app = ps.Application("plain")
    app.source("in", schema={"n": "int64"}).sink("out")
    assert app.graph.sinks[0].connector == ps.sinks.memory()
