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
from penstock.block.row_texts import row_texts
from penstock.errors import OperatorError

FLOATS = st.floats() | st.integers(-(10**18), 10**18).map(float) | st.decimals(-5, 5, places=5).map(float)
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
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 9), max_size=3)),
}


@given(data=st.data(), kinds=st.lists(st.sampled_from(sorted(VALUES)), max_size=4), rows=st.integers(0, 5))
def test_rows_equal_json(data: st.DataObject, kinds: list[str], rows: int) -> None:
    names = [f'{kind} "{place}"' for place, kind in enumerate(kinds)]
    columns = []
    for kind in kinds:
        arrow, values = VALUES[kind]
        drawn = data.draw(st.lists(values | st.none(), min_size=rows, max_size=rows))
        columns.append(pa.array(drawn, arrow))
    batch = pa.RecordBatch.from_arrays(columns, names)
    expected = [json.dumps(row, default=str, ensure_ascii=False) for row in batch.to_pylist()]
    assert row_texts(batch).to_pylist() == expected


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


def test_a_strict_application_names_the_first_row() -> None:
    batch = pa.record_batch({"n": [1, 2]})
    with pytest.raises(OperatorError, match=r"operator 'w' came late; got \{\"n\": 2\}; on_error='fail'"):
        DeadLetters(fail=True).add_rows("w", "came late", block_of(batch, batch.schema), [1, 0])
