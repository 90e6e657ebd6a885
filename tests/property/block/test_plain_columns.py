"""Pieces of a column, pickled apart, are the rows that were cut out of it."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.column import column_of
from penstock.block.plain_columns import Pieces, column_from
from penstock.block.schema import SYMBOL

TEXTS = st.text(max_size=4) | st.none()
VALUES = {
    pa.string(): TEXTS,
    SYMBOL: st.sampled_from(["a", "", "Zürich", None]),
    pa.int64(): st.integers(-9, 9) | st.none(),
    pa.list_(pa.int64()): st.lists(st.integers(0, 9), max_size=2) | st.none(),
}


@given(st.data(), st.sampled_from(sorted(VALUES, key=str)))
def test_pieces_are_the_rows_between_their_bounds(data: st.DataObject, type_: pa.DataType) -> None:
    values = data.draw(st.lists(VALUES[type_], max_size=8))
    first = data.draw(st.integers(0, len(values)))
    column = column_of(pa.array(values, type_).slice(first))  # an array may begin anywhere in its buffers
    rows = values[first:]
    bounds = sorted(data.draw(st.lists(st.integers(0, len(rows)), min_size=2, max_size=4)))
    pieces = Pieces(column)
    for start, stop in itertools.pairwise(bounds):
        plain = pickle.loads(pickle.dumps(pieces.piece(start, stop)))
        assert column_from(plain, type_).to_arrow().to_pylist() == rows[start:stop]


def test_pieces_of_older_versions_are_read() -> None:
    valid, numbers = np.array([True, False]), np.array([1, 2])
    assert column_from((valid, numbers), pa.int64()).to_arrow().to_pylist() == [1, None]
    text = (None, np.array([0, 1, 3], np.int32), np.frombuffer(b"abc", np.uint8))
    assert column_from(text, pa.string()).to_arrow().to_pylist() == ["a", "bc"]
