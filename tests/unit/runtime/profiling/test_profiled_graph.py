"""An application as it is profiled: sources without an end, sinks that leave nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.connectors.discard import DiscardSink
from penstock.connectors.trace.source import TraceSource
from penstock.errors import InputError
from penstock.runtime.profiling.profiled_graph import profiled, with_first_rate
from penstock.runtime.profiling.repeated_table import RepeatedTable, write_table


def test_traces_lose_their_schedule_and_sinks_write_elsewhere(tmp_path: Path) -> None:
    app = ps.Application("prices")
    trades = app.source("trades", ps.sources.trace("trading_day", 1000.0, total=5, keys=3))
    trades.sink("files", ps.sinks.parquet(tmp_path / "mine"))
    trades.sink("calls", ps.sinks.callback(lambda *given: None))
    graph = profiled(app.graph, {}, tmp_path)
    source = graph.sources[0].connector
    assert isinstance(source, TraceSource)
    assert (source.rate, source.total, source.keys) == ("unbounded", None, 3)
    files, calls = (own.connector for own in graph.sinks)
    assert "mine" not in files.path
    assert isinstance(calls, DiscardSink)


def test_tables_are_repeated_without_an_end_and_times_go_on(tmp_path: Path) -> None:
    path = str(tmp_path / "t.arrow")
    write_table(pa.table({"at": [1.0, 2.0, 4.0], "k": ["a", "b", "c"]}), path)
    batch = RepeatedTable(path, ("at",))(np.arange(2, 8))
    assert batch.column("k").to_pylist() == ["c", "a", "b", "c", "a", "b"]
    times = batch.column("at").to_pylist()
    assert times == sorted(times)
    assert len(set(times)) == 6


def test_moments_are_repeated_as_moments(tmp_path: Path) -> None:
    path = str(tmp_path / "t.arrow")
    write_table(pa.table({"at": pa.array([10, 20], pa.timestamp("us"))}), path)
    found = RepeatedTable(path, ("at",))(np.arange(5)).column("at")
    assert found.type == pa.timestamp("us")
    assert found.cast(pa.int64()).to_pylist() == [10, 20, 30, 40, 50]


def test_what_was_given_takes_the_place_of_a_source(tmp_path: Path) -> None:
    app = ps.Application("numbers")
    app.source("x", schema={"x": "int64"}).sink("out")
    graph = profiled(app.graph, {"x": pa.table({"x": [1, 2]})}, tmp_path)
    source = graph.sources[0].connector
    assert isinstance(source, TraceSource)
    assert source.open().batch(0, 4).column("x").to_pylist() == [1, 2, 1, 2]
    with pytest.raises(InputError, match=r"source .x. gives no tuples to profile with.*--input x=FILE"):
        profiled(app.graph, {}, tmp_path)
    with pytest.raises(InputError, match="source 'x' has no tuples to profile with"):
        profiled(app.graph, {"x": pa.table({"x": pa.array([], pa.int64())})}, tmp_path)


def test_the_share_of_the_first_source_changes() -> None:
    app = ps.Application("two")
    for name in ("a", "b"):
        app.source(name, ps.sources.trace("unbounded"), rate_tuples_s=100.0).sink(f"{name}_out")
    changed = with_first_rate(app.graph, 2.0)
    assert [own.rate_tuples_s for own in changed.sources] == [200.0, 100.0]
