"""Rows made by columns are those that Arrow makes one by one, types and all."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.row_dicts import row_dicts
from penstock.block.schema import SYMBOL, TIMESTAMP

MOMENTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999))
VALUES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.int8(), st.integers(-128, 127)),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.bool_(), st.booleans()),
    (pa.string(), st.text(max_size=4)),
    (SYMBOL, st.sampled_from(["a", "", "Zürich"])),
    (TIMESTAMP, MOMENTS),
    (pa.list_(pa.int64()), st.lists(st.integers(0, 9), max_size=2)),
]


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    rows, kinds = draw(st.integers(0, 5)), draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=4))
    arrays = []
    for type_, values in kinds:
        own = draw(st.lists(values | st.none(), min_size=rows, max_size=rows))
        plain = pa.array(own, type_.value_type if pa.types.is_dictionary(type_) else type_)
        arrays.append(plain.dictionary_encode() if pa.types.is_dictionary(type_) else plain)
    batch = pa.RecordBatch.from_arrays(arrays, names=[f"c{place}" for place in range(len(arrays))])
    begin = draw(st.integers(0, rows))
    return batch.slice(begin, draw(st.integers(0, rows - begin)))


def told(rows: Any) -> list[list[tuple[str, type, str]]]:
    """Values with their types; NaN equals nothing, and -0.0 equals 0.0."""
    return [[(name, type(value), _told(value)) for name, value in row.items()] for row in rows]


def _told(value: Any) -> str:
    return "nan" if isinstance(value, float) and math.isnan(value) else repr(value)


@given(batches())
def test_rows_are_those_of_arrow(batch: pa.RecordBatch) -> None:
    assert told(row_dicts(batch)) == told(batch.to_pylist())


@given(batches(), st.sets(st.sampled_from(["c0", "c1", "c2", "more"])))
def test_rows_of_some_attributes_are_those_of_arrow_without_the_others(batch: pa.RecordBatch, names: set[str]) -> None:
    kept = [{name: value for name, value in row.items() if name in names} for row in batch.to_pylist()]
    assert told(row_dicts(batch, names)) == told(kept)


def test_attributes_may_have_any_names() -> None:
    batch = pa.record_batch({"it's": [1], 'a "b"\n': [2], "{v0}": [3], "": [4]})
    assert list(row_dicts(batch)) == batch.to_pylist()


def test_codes_may_be_null_and_so_may_words() -> None:
    codes = pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int32()), pa.array(["a", None]))
    assert list(row_dicts(pa.record_batch({"key": codes}))) == [{"key": "a"}, {"key": None}, {"key": None}]
