"""Key ids equal those of a dictionary filled one row at a time, however the stream is cut and its strings are coded."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.column import Column, column_of
from penstock.block.schema import SYMBOL, TIMESTAMP
from penstock.kernels.keys.key_ids import KeyIndex

NUMBERS = {
    pa.int64(): st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**20 - 1, 2**20])),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.uint64(): st.one_of(st.integers(0, 5), st.integers(2**64 - 3, 2**64 - 1)),
    pa.int8(): st.integers(-128, 127),
    pa.bool_(): st.booleans(),
    pa.float64(): st.one_of(st.sampled_from([0.0, -0.0, math.nan, math.inf]), st.floats()),
    pa.float32(): st.floats(width=32),
    TIMESTAMP: st.integers(0, 2**50),
}
TEXTS = st.one_of(
    st.text(max_size=3), st.text(min_size=5, max_size=30), st.sampled_from(["", "é", "seven77", "eight888", "日本"])
)


def reference_ids(rows: list[tuple[Any, ...]]) -> tuple[list[int], list[tuple[Any, ...]]]:
    """The ids, and the key of each, one row at a time."""
    id_by_key: dict[tuple[Any, ...], int] = {}
    ids = [id_by_key.setdefault(tuple(canonical(value) for value in row), len(id_by_key)) for row in rows]
    return ids, list(id_by_key)


def canonical(value: Any) -> Any:
    if isinstance(value, float):
        return "not a number" if math.isnan(value) else value + 0.0
    return value


def cut(data: st.DataObject, rows: int) -> list[tuple[int, int]]:
    edges = sorted({0, rows, *data.draw(st.lists(st.integers(0, rows), max_size=4))})
    return list(itertools.pairwise(edges))


def keys_of(index: KeyIndex) -> list[tuple[Any, ...]]:
    columns = index.columns(np.arange(index.count, dtype=np.int32))
    values = [column.to_arrow() for column in columns]
    lists = [(v.cast(pa.int64()) if pa.types.is_timestamp(v.type) else v).to_pylist() for v in values]
    return [tuple(canonical(value) for value in row) for row in zip(*lists, strict=True)]


@given(data=st.data())
def test_ids_of_numbers_equal_the_reference(data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from(list(NUMBERS)))
    values = data.draw(st.lists(st.one_of(st.none(), NUMBERS[type_]), max_size=60))
    array = pa.array(values, type_)
    index, got = KeyIndex((type_,)), []
    for start, stop in cut(data, len(values)):
        got += index.assign([column_of(array.slice(start, stop - start))], stop - start).tolist()
    ids, keys = reference_ids([(value,) for value in values])
    assert got == ids
    assert keys_of(index) == keys


@given(data=st.data())
def test_strings_have_one_id_however_they_are_coded(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of(st.none(), TEXTS), max_size=60))
    type_ = data.draw(st.sampled_from([pa.string(), SYMBOL]))
    index, got = KeyIndex((type_,)), []
    for start, stop in cut(data, len(values)):
        got += index.assign([string_column(data, values[start:stop])], stop - start).tolist()
    ids, keys = reference_ids([(value,) for value in values])
    assert got == ids
    assert keys_of(index) == keys


def string_column(data: st.DataObject, values: list[str | None]) -> Column:
    """The values behind an offset, as text or as codes into some dictionary that holds more than them."""
    if data.draw(st.booleans()):
        return column_of(pa.array(["before", *values], pa.string()).slice(1))
    more = data.draw(st.lists(TEXTS, max_size=3))
    words = data.draw(st.permutations([*more, *dict.fromkeys(v for v in values if v is not None)]))
    codes = pa.array([None if v is None else words.index(v) for v in values], pa.int32())
    return column_of(pa.DictionaryArray.from_arrays(codes, pa.array(["zero", *words], pa.string()).slice(1)))


@given(data=st.data())
def test_ids_of_several_columns_equal_the_reference_and_survive_a_snapshot(data: st.DataObject) -> None:
    types = (pa.int64(), SYMBOL, pa.float64(), pa.bool_())[: data.draw(st.integers(2, 4))]
    choices = [st.integers(-1, 2), st.sampled_from(["a", "b", "longer than a word"]), st.sampled_from([0.0, -0.0, 1.5])]
    kinds = [st.one_of(st.none(), choice) for choice in (*choices, st.booleans())]
    rows = data.draw(st.lists(st.tuples(*kinds[: len(types)]), max_size=40))
    index, got = KeyIndex(types), []
    for start, stop in cut(data, len(rows)):
        columns = [
            column_of(pa.array(column, t)) for column, t in zip(zip(*rows[start:stop], strict=True), types, strict=True)
        ]
        got += index.assign(columns, stop - start).tolist()
        exported, index = index.export(), KeyIndex(types)
        index.restore(exported)
    ids, keys = reference_ids(rows)
    assert got == ids
    assert keys_of(index) == keys
