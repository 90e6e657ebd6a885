"""The settings of traces: defaults, schemas, JSON, and every sentence about a mistake."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import penstock as ps
from penstock.block.schema import SYMBOL
from penstock.connectors.trace.source import TraceSource
from penstock.errors import InputError, OperatorError


def squares(offsets: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    return {"n": offsets, "square": offsets * offsets}


def test_an_application_takes_the_schema_of_a_trace() -> None:
    app = ps.Application("a")
    app.source("quotes", ps.sources.trace(keys=10)).sink("out")
    assert app.graph.operator("quotes").schema.names == ["seq", "ticker", "ttype", "price", "volume"]


def test_an_application_with_a_trace_survives_json_and_pickling() -> None:
    app = ps.Application("a")
    app.source("quotes", ps.sources.trace(["x_A.csv", "x_B.csv"], speed_up=5, total=9)).sink("out")
    app.source("squares", ps.sources.trace(function=squares)).sink("other")
    assert ps.Application.from_json(app.to_json()) == app
    source = ps.sources.trace("spike", rate_tuples_s=5, keys=4)
    assert pickle.loads(pickle.dumps(source)) == source


@pytest.mark.parametrize(("ticker", "ticker_type", "kind_type"), [
    ("symbol", SYMBOL, SYMBOL), ("string", pa.string(), pa.string()), ("int32", pa.int32(), SYMBOL),
])  # fmt: skip
def test_tickers_are_written_as_asked_for(ticker: Any, ticker_type: pa.DataType, kind_type: pa.DataType) -> None:
    source = ps.sources.trace(keys=5, ticker=ticker)
    table = source.table(0, 50)
    assert table.schema == source.schema
    assert (table.schema.field("ticker").type, table.schema.field("ttype").type) == (ticker_type, kind_type)
    if ticker != "int32":
        assert (
            table["ticker"].cast(pa.string()).equals(ps.sources.trace(keys=5).table(0, 50)["ticker"].cast(pa.string()))
        )


def test_several_files_are_one_key_each_and_a_single_one_is_the_rate_of_all() -> None:
    several = ps.sources.trace([Path("a.csv"), Path("b.csv")])
    assert (several.rate, several.keys, several.key_distribution) == (("a.csv", "b.csv"), 2, "traces")
    assert several.rate_tuples_s is None
    single = ps.sources.trace("a.csv")
    assert (single.rate, single.keys, single.key_distribution) == (("a.csv",), 2836, "uniform")


def test_a_function_of_the_offsets_makes_the_tuples() -> None:
    source = ps.sources.trace(function=squares, total=100)
    assert source.schema == pa.schema([("n", pa.int64()), ("square", pa.int64())])
    assert source.table(7, 9).to_pylist() == [{"n": 7, "square": 49}, {"n": 8, "square": 64}]
    assert source.table(9, 9).num_rows == 0
    assert source.table().num_rows == 100


def test_a_function_may_give_batches_and_tables_and_is_held_to_its_first_types() -> None:
    def table(offsets: npt.NDArray[np.int64]) -> pa.Table:
        return pa.table({"n": pa.array(offsets, pa.int32() if offsets[0] else pa.int64())})

    def batch(offsets: npt.NDArray[np.int64]) -> pa.RecordBatch:
        return pa.record_batch({"n": offsets})

    assert ps.sources.trace(function=table).table(5, 6).equals(ps.sources.trace(function=batch).table(5, 6))


def failing(offsets: npt.NDArray[np.int64]) -> dict[str, object]:
    raise ZeroDivisionError("no way")


def test_mistakes_of_a_function_are_told() -> None:
    with pytest.raises(OperatorError, match="the function failing of a trace failed on 1 offsets: no way"):
        _ = ps.sources.trace(function=failing).schema

    def short(offsets: npt.NDArray[np.int64]) -> dict[str, object]:
        return {"n": offsets[:1]}

    with pytest.raises(InputError, match="the function short of a trace needs one row per offset, 3; got 1"):
        ps.sources.trace(function=short).table(0, 3)

    def moody(offsets: npt.NDArray[np.int64]) -> dict[str, object]:
        return {"n" if offsets[0] == 0 else "m": offsets}

    with pytest.raises(
        InputError, match=r"the function moody of a trace needs the attributes that it gave for offset 0, \['n'\]"
    ):
        ps.sources.trace(function=moody).table(3, 4)
    with pytest.raises(InputError, match="whose tuples a function makes has no block of them"):
        ps.sources.trace(function=squares).block(0, 1)


@pytest.mark.parametrize(("settings", "sentence"), [
    ({"rate": "constnat"}, "a trace's rate is one of constant, step, .*; got 'constnat'; did you mean 'constant'?"),
    ({"rate": ()}, "a trace's rate is a name or one CSV file at least; got none"),
    ({"rate_tuples_s": 0}, "needs a positive number as rate_tuples_s; got 0"),
    ({"rate_tuples_s": None}, "a trace with the rate 'constant' needs a rate_tuples_s; got None"),
    ({"speed_up": float("nan")}, "needs a positive number as speed_up; got nan"),
    ({"period_s": -1}, "needs a positive number as period_s; got -1"),
    ({"rate": ("a.csv",), "period_s": 1.0}, "a trace from files has no period_s, since it does not repeat; got 1.0"),
    ({"keys": 0}, "needs a whole number of keys from 1 to 2147483647; got 0"),
    ({"key_distribution": "zip"}, "one of uniform, zipf, traces; got 'zip'; did you mean 'zipf'?"),
    ({"key_distribution": "traces"}, "'traces' needs a CSV file per key as rate; got 'constant'"),
    ({"rate": ("a.csv",), "keys": 2, "key_distribution": "traces"}, "one key per file, 1; got keys=2"),
    ({"seed": 1.5}, "a trace's seed is a whole number of at least 0; got 1.5"),
    ({"seed": -1}, "a trace's seed is a whole number of at least 0; got -1"),
    ({"total": -1}, "a trace's total is a whole number of tuples, or None for no end; got -1"),
    ({"ticker": "float"}, "tickers are written as one of symbol, string, int32; got 'float'"),
    ({"function": 5}, "a trace's function takes an array of offsets; got 5"),
])  # fmt: skip
def test_a_wrong_setting_is_told_in_a_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence.replace("?", r"\?")):
        TraceSource(**settings)


def test_all_wrong_settings_are_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        ps.sources.trace(rate="noon", keys=0, total=-2)
    assert len(str(caught.value).splitlines()) == 3


def test_offsets_outside_of_a_trace_are_refused() -> None:
    source = ps.sources.trace(keys=3, total=10)
    for start, stop in ((-1, 2), (3, 2), (5, 11)):
        with pytest.raises(InputError, match=f"0 <= start <= stop <= 10; got {start} and {stop}"):
            source.table(start, stop)
    with pytest.raises(InputError, match="a table of a trace without an end needs a stop"):
        ps.sources.trace(keys=3).table()
