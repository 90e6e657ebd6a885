"""Rows as JSON text, by columns, equal what `json` writes of each row."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.block import block_of
from penstock.block.dead_letters import DeadLetters
from penstock.block.texts.row_texts import joined_texts, looped_texts, row_texts
from penstock.errors import OperatorError

FLOATS = (
    st.floats()
    | st.integers(-(10**18), 10**18).map(float)
    | st.decimals(-5, 5, places=5).map(float)
    | st.builds(lambda digits, places: digits / 10**places, st.integers(-(10**16), 10**16), st.integers(0, 20))
)
VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "natural": (pa.uint8(), st.integers(0, 255)),
    "float": (pa.float64(), FLOATS),
    "short float": (pa.float32(), st.floats(width=32)),
    "flag": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.text() | st.sampled_from(['say "hi"', "a\\b", "\n", "\x7f", "é", ""])),
    "symbol": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["a", 'b"', "c\t"])),
    "bytes": (pa.binary(), st.binary(max_size=5)),
    "time": (pa.timestamp("us"), st.datetimes() | st.datetimes().map(lambda moment: moment.replace(microsecond=0))),
    "recent": (
        pa.timestamp("us"),
        st.datetimes(datetime.datetime(1990, 1, 1)) | st.just(datetime.datetime(1969, 7, 20)),
    ),
    "moment in UTC": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(datetime.UTC))),
    "recent in UTC": (
        pa.timestamp("us", "Etc/UTC"),
        st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1), timezones=st.just(datetime.UTC)),
    ),
    "moment of a zone": (
        pa.timestamp("us", "America/New_York"),
        st.datetimes(datetime.datetime(1970, 1, 2), datetime.datetime(2100, 1, 1), timezones=st.just(datetime.UTC)),
    ),
    "second": (pa.timestamp("s"), st.datetimes().map(lambda moment: moment.replace(microsecond=0))),
    "nanosecond": (
        pa.timestamp("ns"),
        st.integers(-(2**62), 2**62) | st.integers(-(2**52), 2**52).map(lambda n: n * 1000),
    ),
    "large natural": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "large text": (pa.large_string(), st.text()),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 9), max_size=3)),
}


@given(data=st.data(), kinds=st.lists(st.sampled_from(sorted(VALUES)), max_size=4), rows=st.integers(0, 5))
def test_rows_equal_json(data: st.DataObject, kinds: list[str], rows: int) -> None:
    batch = drawn_batch(data, kinds, rows)
    expected = [json.dumps(row, default=str, ensure_ascii=False) for row in batch.to_pylist()]
    assert row_texts(batch).to_pylist() == expected


@given(data=st.data(), kinds=st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4), rows=st.integers(0, 8))
def test_the_loop_and_arrow_write_what_json_writes(data: st.DataObject, kinds: list[str], rows: int) -> None:
    whole = drawn_batch(data, kinds, rows)
    batch = whole.slice(data.draw(st.integers(0, rows)))
    expected = [json.dumps(row, default=str, ensure_ascii=False) for row in batch.to_pylist()]
    assert looped_texts(batch).to_pylist() == expected
    assert joined_texts(batch).to_pylist() == expected
    looped_texts(batch).validate(full=True)


@given(st.lists(FLOATS, min_size=1, max_size=50))
def test_the_loop_writes_floats_as_python_does(values: list[float]) -> None:
    batch = pa.record_batch({"x": pa.array(values, pa.float64())})
    assert looped_texts(batch).to_pylist() == [json.dumps({"x": value}) for value in values]


def test_texts_longer_than_expected_are_whole() -> None:
    texts = ["\x00" * 1000, "", "\x01" * 3, 'a"b'] * 500
    batch = pa.record_batch({"text": texts})
    assert row_texts(batch).to_pylist() == [json.dumps({"text": text}) for text in texts]


def drawn_batch(data: st.DataObject, kinds: list[str], rows: int) -> pa.RecordBatch:
    """Some rows of attributes of these kinds, nulls among them."""
    names = [f'{kind} "{place}"' for place, kind in enumerate(kinds)]
    columns = []
    for kind in kinds:
        arrow, values = VALUES[kind]
        columns.append(pa.array(data.draw(st.lists(values | st.none(), min_size=rows, max_size=rows)), arrow))
    return pa.RecordBatch.from_arrays(columns, names)


@given(st.lists(st.integers(0, 3), max_size=8))
def test_letters_keep_their_order_however_they_come(sizes: list[int]) -> None:
    letters, expected = DeadLetters(), []
    for place, size in enumerate(sizes):
        batch = pa.record_batch({"n": pa.array([place] * size, pa.int64())})
        if size == 1:
            letters.add("one", f"because {place}", {"n": place})
        else:
            letters.add_rows("many", f"because {place}", block_of(batch, batch.schema), list(range(size)))
        name = "one" if size == 1 else "many"
        expected += [{"operator": name, "reason": f"because {place}", "row": json.dumps({"n": place})}] * size
    assert len(letters) == len(expected)
    assert letters.table().to_pylist() == expected
    assert letters.drain().to_pylist() == expected
    assert len(letters) == 0
    assert letters.drain().num_rows == 0


@given(st.dictionaries(st.integers(0, 9), st.sampled_from(["failed", "failed with 'é'"])), st.booleans())
def test_failures_with_reasons_of_their_own_equal_letters_one_by_one(reasons: dict[int, str], also_one: bool) -> None:
    batch = pa.record_batch({"n": list(range(10)), "text": [None, 'a"'] * 5})
    columnar, one_by_one = DeadLetters(), DeadLetters()
    for letters in (columnar, one_by_one)[: 2 * also_one]:
        letters.add("before", "because", {"n": 0})
    columnar.add_failures("map", reasons, batch)
    for row in sorted(reasons):
        one_by_one.add("map", reasons[row], batch.slice(row, 1).to_pylist()[0])
    assert len(columnar) == len(one_by_one)
    assert columnar.table().to_pylist() == one_by_one.table().to_pylist()


def test_a_strict_application_names_the_first_failure() -> None:
    batch = pa.record_batch({"n": [1, 2, 3]})
    with pytest.raises(OperatorError, match=r"operator 'm' second; got \{\"n\": 2\}; on_error='fail'"):
        DeadLetters(fail=True).add_failures("m", {2: "third", 1: "second"}, batch)


def test_a_strict_application_names_the_first_row() -> None:
    batch = pa.record_batch({"n": [1, 2]})
    with pytest.raises(OperatorError, match=r"operator 'w' came late; got \{\"n\": 2\}; on_error='fail'"):
        DeadLetters(fail=True).add_rows("w", "came late", block_of(batch, batch.schema), [1, 0])
