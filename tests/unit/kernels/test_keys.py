"""The key index: growth, identity of dictionaries, extremes, snapshots."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.block.column import ArrowColumn, CodedColumn, FixedColumn, column_of
from penstock.block.schema import SYMBOL
from penstock.errors import InputError
from penstock.kernels.keys.key_ids import KeyIndex


def assign(index: KeyIndex, values: pa.Array) -> list[int]:
    ids: list[int] = index.assign([column_of(values)], len(values)).tolist()
    return ids


def test_ids_follow_first_appearance_over_blocks() -> None:
    index = KeyIndex((pa.int64(),))
    assert assign(index, pa.array([7, 3, 7, None])) == [0, 1, 0, 2]
    assert assign(index, pa.array([None, 2**63 - 1, -(2**63), 3])) == [2, 3, 4, 1]
    assert index.count == 5


def test_a_million_keys_near_and_far() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.permutation(500_000), rng.permutation(500_000) * 3_000_000_019 - 2**62])
    index = KeyIndex((pa.int64(),))
    column = FixedColumn(values, pa.int64())
    np.testing.assert_array_equal(index.assign([column], len(values)), np.arange(len(values)))
    np.testing.assert_array_equal(index.assign([column], len(values)), np.arange(len(values)))
    np.testing.assert_array_equal(index.columns(np.arange(1_000_000, dtype=np.int32))[0].values, values)


def test_a_hundred_thousand_strings_outgrow_every_table() -> None:
    values = pa.array([f"{n:0{1 + n % 20}d}" for n in range(100_000)])
    expected = list(dict.fromkeys(values.to_pylist()))
    index = KeyIndex((pa.string(),))
    ids = index.assign([ArrowColumn(values)], len(values))
    assert index.count == len(expected)
    assert index.columns(ids)[0].to_arrow().equals(values)
    assert index.columns(np.arange(index.count, dtype=np.int32))[0].to_arrow().to_pylist() == expected


def test_a_read_only_or_strided_column_is_taken_as_it_is() -> None:
    values = np.arange(10)[::2]
    index = KeyIndex((pa.int64(),))
    assert index.assign([FixedColumn(values, pa.int64())], 5).tolist() == [0, 1, 2, 3, 4]
    values.flags.writeable = False
    assert index.assign([FixedColumn(values, pa.int64())], 5).tolist() == [0, 1, 2, 3, 4]


def test_ids_come_in_the_order_of_the_stream_not_of_the_dictionary() -> None:
    words = pa.array(["a", "b", "c", "d"])
    index = KeyIndex((SYMBOL,))
    assert index.assign([CodedColumn(np.array([3, 1, 3], np.int32), words)], 3).tolist() == [0, 1, 0]
    assert assign(index, pa.array(["c", "b"])) == [2, 1]
    assert index.assign([CodedColumn(np.array([0, 2], np.int32), words)], 2).tolist() == [3, 2]


def test_a_dictionary_that_grows_or_changes_keeps_the_ids() -> None:
    index = KeyIndex((SYMBOL,))
    for words in (["x"], ["x", "y"], ["y", "x"], ["x", "y", "z"], ["x", "y"]):
        codes = np.arange(len(words), dtype=np.int32)
        ids = index.assign([CodedColumn(codes, pa.array(words))], len(words))
        assert [{"x": 0, "y": 1, "z": 2}[word] for word in words] == ids.tolist()


def test_many_dictionaries_come_and_go() -> None:
    index = KeyIndex((SYMBOL,))
    for turn in range(300):
        column = CodedColumn(np.array([0, 1], np.int32), pa.array([f"word {turn}", "same"]))
        ids = index.assign([column], 2).tolist()
        assert ids == [turn + (turn > 0), 1]


def test_a_dictionary_may_repeat_a_string() -> None:
    index = KeyIndex((SYMBOL,))
    column = CodedColumn(np.array([0, 1, 2], np.int32), pa.array(["a", "b", "a"]))
    assert index.assign([column], 3).tolist() == [0, 1, 0]


def test_strings_at_the_very_end_of_their_memory() -> None:
    for words in (["a"], ["", "a", ""], ["1234567", "12345678"], ["123456789", "", "1"]):
        text = "".join(words).encode()
        offsets = np.cumsum([0, *map(len, words)]).astype(np.int32)
        array = pa.Array.from_buffers(pa.string(), len(words), [None, pa.py_buffer(offsets), pa.py_buffer(text)])
        index = KeyIndex((pa.string(),))
        distinct = list(dict.fromkeys(words))
        assert assign(index, array) == [distinct.index(word) for word in words]


def test_a_coded_key_comes_back_coded_over_one_dictionary() -> None:
    index = KeyIndex((SYMBOL,))
    assign(index, pa.array(["b", None, "a"]).dictionary_encode())
    (first,) = index.columns(np.array([2, 1], np.int32))
    (second,) = index.columns(np.array([0], np.int32))
    assert isinstance(first, CodedColumn)
    assert isinstance(second, CodedColumn)
    assert first.dictionary is second.dictionary
    assert first.to_arrow().to_pylist() == ["a", None]


def test_columns_given_before_more_keys_came_stay_as_they_were() -> None:
    index = KeyIndex((pa.string(),))
    assign(index, pa.array(["one", "two"]))
    (before,) = index.columns(np.array([0, 1], np.int32))
    assign(index, pa.array([f"key {n}" for n in range(5000)]))
    assert before.to_arrow().to_pylist() == ["one", "two"]


def test_no_key_columns_make_one_key() -> None:
    index = KeyIndex(())
    assert (index.count, index.assign([], 3).tolist(), index.count) == (0, [0, 0, 0], 1)
    assert index.columns(np.array([0], np.int32)) == ()
    restored = KeyIndex(())
    restored.restore(index.export())
    assert restored.count == 1


def test_a_restored_index_goes_on_with_the_same_ids() -> None:
    types = (pa.string(), pa.float64())
    rows = [("a", 0.0), (None, 1.0), ("a", None), ("b", 0.0)]
    columns = [column_of(pa.array(values, t)) for values, t in zip(zip(*rows, strict=True), types, strict=True)]
    index = KeyIndex(types)
    ids = index.assign(columns, 4)
    restored = KeyIndex(types)
    restored.restore(index.export())
    assert restored.assign([c.take(np.array([3, 2, 1, 0])) for c in columns], 4).tolist() == ids[::-1].tolist()
    assert restored.count == 4
    assert restored.state_bytes > 0


def test_a_list_cannot_be_a_key() -> None:
    with pytest.raises(InputError, match="a key is a string, number, boolean or timestamp; got list<item: int64>"):
        KeyIndex((pa.list_(pa.int64()),))
