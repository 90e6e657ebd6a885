"""`ps.evaluate(engine="spark")` gives what the engine in-process gives, to the bit and in order."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.block.schema import schema_of
from penstock.connectors.recorded import RecordedSource
from penstock.engines import evaluate
from penstock.plan.configuration import ElementConfiguration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from tests.reference.everything import ORDERS, QUOTES, Counter, everything

ROWS = 60


def quotes(seed: int) -> pa.Table:
    chance = random.Random(seed)
    rows = [
        {
            "ticker": chance.choice(["A", "BB", "CCC", None]),
            "price": None if chance.random() < 0.05 else chance.choice([0.5, 2.0, 7.25, 60.125, 1 / 3]),
            "volume": chance.choice([None, 1, 5, -3]),
            "at": None if chance.random() < 0.05 else 1_000_000 * (i + chance.randrange(3)),
            "tags": chance.choice([None, [], ["x", "y"]]),
        }
        for i in range(ROWS)
    ]
    schema = {"ticker": "symbol", "price": "float64", "volume": "int64", "at": "timestamp", "tags": "list<string>"}
    return pa.Table.from_pylist(rows, schema_of(schema))


def orders(seed: int) -> pa.Table:
    chance = random.Random(seed)
    rows = [
        {"ticker": chance.choice(["A", "BB"]), "side": chance.choice(["buy", "it's", None]), "at": 200_000 * i}
        for i in range(ROWS)
    ]
    return pa.Table.from_pylist(rows, schema_of({"ticker": "string", "side": "string", "at": "timestamp"}))


def any_configuration(app: ps.Application, seed: int) -> ps.Configuration:
    """Fusion, replicas, routes and sizes by chance."""
    chance = random.Random(seed)
    sources = [replace(s, connector=RecordedSource("")) for s in app.graph.sources]
    graph = replace(app.graph, operators=(*sources, *(o for o in app.graph.operators if o.inputs)))
    names = [o.name for o in graph.operators if o.inputs and o not in graph.sinks]
    unfused = tuple(sorted(name for name in names if chance.random() < 0.2))
    elements = []
    for element in default_configuration(pipeline_of(graph, unfused), 1).elements:
        replicas = chance.randint(2, 3) if element.route else 1
        route = tuple(chance.randrange(replicas) for _ in element.route)
        elements.append(ElementConfiguration(element.name, replicas, route))
    return ps.Configuration(tuple(elements), chance.choice([1, 7, 100]), chance.choice([40, 500]), unfused)


def keyed() -> ps.Application:
    """Windows as rows and as objects, a join and an operator of the user's, all by key."""
    app = ps.Application("keyed")
    left = app.source("quotes", schema=QUOTES)
    right = app.source("orders", schema=ORDERS)
    per_group = {"by": "ticker", "window": ps.sliding(count=3, every=2, per_group=True)}
    left.aggregate("rows", **per_group, emit={"ticker": "any(ticker)", "sum": "sum(price)"}).sink("summed")
    left.aggregate("lists", **per_group, emit={"ticker": "any(ticker)", "all": "collect(price)"}).sink("listed")
    windows = {"left_window": ps.sliding(count=2, per_group=True), "right_window": ps.sliding(count=2, per_group=True)}
    left.join("met", right, on="ticker", **windows, emit={"t": "left.ticker", "price": "price", "side": "side"}).sink(
        "pairs"
    )
    left.operator("counted", Counter(), schema={"n": "int64"}, by="ticker").sink("counts")
    return app


def rows_of(table: pa.Table) -> list[str]:
    """Rows as texts: equal where every bit of every number is."""
    return [repr(row) for row in table.to_pylist()]


def assert_equal(spark: ps.Tables, inprocess: ps.Tables) -> None:
    assert list(spark) == list(inprocess)
    for name, table in inprocess.items():
        assert spark[name].schema == table.schema
        assert rows_of(spark[name]) == rows_of(table), name
    assert sorted(rows_of(spark.dead_letters)) == sorted(rows_of(inprocess.dead_letters))


@pytest.mark.parametrize("seed", range(2))
def test_every_operator_over_two_sources(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)  # two sinks have directories
    app, inputs = everything(), {"quotes": quotes(seed), "orders": orders(seed)}
    configuration = None if seed == 0 else any_configuration(app, seed)
    taps = ["quotes", "later", "by_price.dear"]
    expected = evaluate(app, inputs, taps=taps)
    written = {path: pyarrow.parquet.read_table(path) for path in expected.written if path.suffix == ".parquet"}
    for path in expected.written:
        path.unlink()
    spark = evaluate(app, inputs, taps=taps, engine="spark", configuration=configuration, session=session)
    assert_equal(spark, expected)
    assert sum(len(table) for table in expected.values()) > 200
    assert expected.dead_letters.num_rows
    assert spark.written == expected.written
    assert all(pyarrow.parquet.read_table(path).equals(table) for path, table in written.items())


@pytest.mark.parametrize("seed", range(2))
def test_state_by_key_on_several_replicas(session: SparkSession, seed: int) -> None:
    app, inputs = keyed(), {"quotes": quotes(seed), "orders": orders(seed)}
    configuration = any_configuration(app, seed)
    assert any(element.replicas > 1 for element in configuration.elements)
    spark = evaluate(app, inputs, engine="spark", configuration=configuration, session=session)
    assert_equal(spark, evaluate(app, inputs))
    assert all(len(table) for table in spark.values())


def test_files_functions_and_progress(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("x,y\n1,a\n2,b\nthree,c\n")
    (tmp_path / "in" / "2.csv").write_text("y,x\nd,4\n")
    calls: list[Any] = []

    def keep(frame: DataFrame, batch: int) -> None:
        calls.append(([row.x for row in frame.collect()], batch))

    app = ps.Application("files")
    numbers = app.source("in", ps.sources.csv("in"), {"x": "int64", "y": "symbol"})
    numbers.sink("frames", ps.sinks.foreach_batch(keep))
    numbers.functor("double", emit={"z": "x * 2"}).sink("tables", ps.sinks.callback(lambda t, b: calls.append(t["z"])))
    seen: list[tuple[int, int]] = []
    tables = evaluate(
        app, data_dir=tmp_path, engine="spark", session=session, progress=lambda done, total: seen.append((done, total))
    )
    assert tables["tables"]["z"].to_pylist() == [2, 4, 8]
    assert calls[0] == ([1, 2, 4], 0)
    assert calls[1].to_pylist() == [2, 4, 8]
    assert seen[-1] == (3, 3)
    assert tables.dead_letters["reason"].to_pylist() == ["has no int64 in 'x'"]


def refuse(row: dict[str, Any]) -> dict[str, Any]:
    if row["x"] == 3:
        raise ValueError("three is too many")
    return row


def test_the_first_tuple_that_cannot_be_used_stops_where_that_is_asked_for(session: SparkSession) -> None:
    app = ps.Application("refused")
    app.source("in", schema={"x": "int64"}).map("checked", refuse, {"x": "int64"}, per_tuple=True).sink("out")
    inputs = {"in": {"x": [1, 2, 3, 4]}}
    assert_equal(evaluate(app, inputs, engine="spark", session=session), evaluate(app, inputs))
    with pytest.raises(ps.errors.OperatorError) as expected:
        evaluate(app, inputs, on_error="fail")
    with pytest.raises(ps.errors.OperatorError) as raised:
        evaluate(app, inputs, on_error="fail", engine="spark", session=session)
    assert str(raised.value) == str(expected.value)
    assert raised.value.__cause__ is None


def test_nothing_in_gives_nothing_out(session: SparkSession) -> None:
    app = ps.Application("empty")
    app.source("in", schema={"x": "int64"}).sink("out")
    assert_equal(evaluate(app, {"in": {"x": []}}, engine="spark", session=session), evaluate(app, {"in": {"x": []}}))


def test_arguments_that_do_not_fit_are_told() -> None:
    app = everything()
    with pytest.raises(
        ps.errors.InputError, match="engine is 'inprocess' or 'spark'; got 'sparc'; did you mean 'spark'"
    ):
        evaluate(app, engine="sparc")
    with pytest.raises(ps.errors.InputError, match="configuration and session are for engine='spark'"):
        evaluate(app, configuration=any_configuration(app, 1))
    with pytest.raises(ps.errors.InputError, match="block_rows is a whole number of at least 1; got 0"):
        evaluate(app, block_rows=0, engine="spark")
    other = ps.Configuration((ElementConfiguration("fild", 1),))
    with pytest.raises(
        ps.errors.InputError, match=r"has an element 'fild', which the application does not; .* 'filled'"
    ):
        evaluate(app, {"quotes": quotes(0), "orders": orders(0)}, engine="spark", configuration=other)
