"""Blocks survive the way through bytes, and rows reach the replica that their route says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block import envelope
from penstock.block.block import block_of
from penstock.block.envelope import seal, unseal
from penstock.block.position import source_position
from penstock.block.punctuation import Punctuations
from penstock.kernels.dealing import deal

SYMBOL = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("b", pa.bool_()),
        ("s", pa.string()),
        ("c", SYMBOL),
        ("l", pa.list_(pa.int64())),
    ]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "n": st.none() | st.integers(-(2**63), 2**63 - 1),
            "x": st.none() | st.floats(allow_nan=False),
            "b": st.none() | st.booleans(),
            "s": st.none() | st.text(max_size=5),
            "c": st.none() | st.sampled_from(["a", "", "ö"]),
            "l": st.none() | st.lists(st.integers(0, 9), max_size=3),
        }
    ),
    max_size=20,
)


@given(rows=ROWS, with_position=st.booleans())
def test_a_block_is_the_same_after_the_way(rows: list[dict[str, object]], with_position: bool) -> None:
    block = block_of(pa.Table.from_pylist(rows, SCHEMA), SCHEMA)
    if with_position:
        position = source_position(np.arange(len(rows)) / 2, 3, 7)
        block.position = position.extend(np.arange(len(rows)))
    opened = unseal(seal(block), SCHEMA)
    assert opened.to_arrow().to_pylist() == rows
    if with_position:
        assert opened.position is not None
        assert block.position is not None
        assert opened.position.sequence.tolist() == block.position.sequence.tolist()
        assert opened.position.levels.tolist() == block.position.levels.tolist()
    else:
        assert opened.position is None


@given(rows=ROWS)
def test_the_same_tuples_give_the_same_bytes(rows: list[dict[str, object]]) -> None:
    one, other = (seal(block_of(pa.Table.from_pylist(rows, SCHEMA), SCHEMA)) for _ in range(2))
    assert one.equals(other)


@given(rows=ROWS, with_position=st.booleans(), marks=st.none() | st.lists(st.integers(0, 20), max_size=4))
def test_large_payloads_have_the_bytes_of_small_ones(
    rows: list[dict[str, object]], with_position: bool, marks: list[int] | None
) -> None:
    block = block_of(pa.Table.from_pylist(rows, SCHEMA), SCHEMA)
    if with_position:
        block.position = source_position(np.arange(len(rows)) / 2, 3, 7)
    if marks is not None:
        offsets = np.sort(np.array(marks, np.int64))
        block.punctuations = Punctuations(offsets, np.arange(len(marks)), None)
    small = seal(block)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envelope, "_LARGE_BYTES", 0)
        large = seal(block)
    assert large.equals(small)
    assert unseal(large, SCHEMA).to_arrow().to_pylist() == rows


@given(slots=st.lists(st.integers(0, 7), max_size=50), route=st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_rows_are_dealt_by_route_and_keep_their_order(slots: list[int], route: list[int]) -> None:
    rows, starts, counts = deal(np.array(slots, np.int32), np.array(route, np.int32), 4)
    assert counts.tolist() == [slots.count(slot) for slot in range(len(route))]
    for replica in range(4):
        expected = [row for row, slot in enumerate(slots) if route[slot] == replica]
        assert rows[starts[replica] : starts[replica + 1]].tolist() == expected


@given(rows=st.integers(0, 200), number=st.integers(-(2**63), 2**63 - 1), stamp=st.floats(allow_nan=False))
def test_columns_of_one_value_take_a_byte_a_row(rows: int, number: int, stamp: float) -> None:
    schema = pa.schema({"n": pa.int64(), "at": pa.timestamp("us"), "x": pa.float64()})
    moment = number % 10**15
    arrays = [pa.array([number] * rows, pa.int64()), pa.array([moment] * rows, schema.field("at").type)]
    block = block_of(pa.record_batch([*arrays, pa.array(np.arange(rows) / 2)], schema=schema), schema)
    position = source_position(np.full(rows, stamp), 3, 7)
    block.position = position.extend(np.zeros(rows, np.int64))
    sealed = seal(block)
    opened = unseal(sealed, schema)
    assert opened.to_arrow().equals(block.to_arrow())
    assert opened.position is not None
    assert opened.position.stamp.tolist() == position.stamp.tolist()
    assert opened.position.place.tolist() == position.place.tolist()
    assert opened.position.levels.tolist() == [[0] * rows]
    assert rows < 64 or sealed.size < 3000 + (5 + 16) * rows
