"""Rows in, rows out: `penstock.testing` in this process; tests/spark/session/test_testing.py has the rest."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps

ROWS = [
    {"name": "a", "x": 1, "at": datetime(2024, 1, 1), "words": ["b"], "flag": True},
    {"name": None, "x": None, "at": None, "words": None, "flag": None},
    {"name": "b", "x": 3, "at": datetime(2024, 1, 2), "words": [], "flag": False},
]


def copied(source: Any, schema: dict[str, str] | None = None) -> list[dict[str, Any]]:
    app, results = ps.Application("copied"), ps.testing.collected()
    app.source("in", source, schema).sink("out", results)
    ps.evaluate(app)
    return results.rows


@pytest.mark.parametrize("rows", [ROWS, pa.Table.from_pylist(ROWS), pa.concat_tables([pa.Table.from_pylist(ROWS)] * 3)])
def test_rows_come_out_as_they_went_in(rows: Any) -> None:
    assert copied(ps.testing.source_of(rows)) == (rows if isinstance(rows, list) else rows.to_pylist())


def test_a_schema_says_what_types_rows_have() -> None:
    source = ps.testing.source_of([{"x": 1, "k": "a", "none": None}], {"x": "float64", "k": "symbol", "none": "int64"})
    assert source.schema.types == [pa.float64(), pa.dictionary(pa.int32(), pa.string()), pa.int64()]
    assert copied(source) == [{"x": 1.0, "k": "a", "none": None}]


def test_no_rows_are_an_empty_stream() -> None:
    assert copied(ps.testing.source_of([], {"x": "int64"})) == []


@pytest.mark.parametrize(
    ("rows", "schema", "sentence"),
    [
        (5, None, "rows of ps.testing.source_of are a list of dicts, or a pyarrow.Table, that fit the schema; got 5"),
        ([1, 2], None, "that fit the schema; got [1, 2]"),
        ([{"x": "one"}], {"x": "int64"}, "that fit the schema; got [{'x': 'one'}]"),
        ([{"x": None}], None, "there is no type 'null'"),
    ],
)
def test_rows_that_do_not_fit_are_told(rows: Any, schema: Any, sentence: str) -> None:
    with pytest.raises(ps.errors.InputError) as raised:
        ps.testing.source_of(rows, schema)
    assert sentence in str(raised.value)


def test_a_sink_that_collects_starts_with_nothing_and_keeps_the_last_evaluation() -> None:
    app, results = ps.Application("copied"), ps.testing.collected()
    app.source("in", schema={"x": "int64"}).sink("out", results)
    assert results.rows == []
    for x in (1, 2):
        ps.evaluate(app, {"in": {"x": [x]}})
        assert results.rows == [{"x": x}]


def test_a_number_beyond_its_type_is_refused_in_one_sentence() -> None:
    with pytest.raises(ps.errors.InputError, match=r"rows of ps\.testing\.source_of are a list of dicts"):
        ps.testing.source_of([{"x": 2**70}], {"x": "int64"})
