"""Rows from outside become blocks; those that do not fit become dead letters, and only those."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.app.operators import Source
from penstock.block.dead_letters import DeadLetters
from penstock.block.envelope import seal, unseal
from penstock.block.schema import schema_of
from penstock.connectors.row_checks import fitted
from penstock.errors import InputError


def fit(columns: dict[str, Any], schema: dict[str, str]) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    source, letters = Source("in", (), schema_of(schema)), DeadLetters()
    block = fitted(pa.RecordBatch.from_pydict(columns), source, letters)
    again = unseal(seal(block), source.schema)
    assert again.to_arrow().equals(block.to_arrow())
    return block.to_arrow().to_pylist(), letters.table().to_pylist()


numbers = st.lists(st.none() | st.integers(-(1 << 40), 1 << 40) | st.integers(-3, 300), max_size=20)


@given(numbers, st.booleans())
def test_numbers_that_do_not_fit_cost_only_their_row(values: list[int | None], nullable: bool) -> None:
    word = "uint8" if nullable else "uint8 not null"
    rows, letters = fit(
        {"x": pa.array(values, pa.int64()), "n": pa.array(range(len(values)))}, {"x": word, "n": "int32"}
    )
    fine = [(i, x) for i, x in enumerate(values) if (nullable if x is None else 0 <= x <= 255)]
    assert [(row["n"], row["x"]) for row in rows] == fine
    reasons = {None: "has a null in 'x', where its schema forbids it"}
    wrong = [(i, x) for i, x in enumerate(values) if (i, x) not in fine]
    assert sorted(letter["row"] for letter in letters) == sorted(
        f'{{"x": {"null" if x is None else x}, "n": {i}}}' for i, x in wrong
    )
    assert {letter["reason"] for letter in letters} == {reasons.get(x, "has no uint8 in 'x'") for _, x in wrong}


def test_a_row_with_several_mistakes_is_one_letter() -> None:
    rows, letters = fit({"x": [1.5, 2.0], "y": [None, 1.0]}, {"x": "int64", "y": "float64 not null"})
    assert rows == [{"x": 2, "y": 1.0}]
    assert [letter["reason"] for letter in letters] == ["has no int64 in 'x'"]


def test_zones_texts_and_lists_are_converted() -> None:
    at = pa.array([1_000_000], pa.timestamp("us", "Europe/Paris"))
    rows, letters = fit(
        {"at": at, "key": ["a"], "many": pa.array([[1, 300]], pa.list_(pa.int64()))},
        {"at": "timestamp", "key": "symbol", "many": "list<int8>"},
    )
    assert (rows, [letter["reason"] for letter in letters]) == ([], ["has no list<int8> in 'many'"])
    rows, _ = fit({"at": at, "key": ["a"]}, {"at": "timestamp", "key": "symbol"})
    assert rows[0]["at"].isoformat() == "1970-01-01T00:00:01"


def test_words_that_a_block_does_not_use_do_not_travel_with_it() -> None:
    words = pa.array([f"word {i}" for i in range(10_000)]).dictionary_encode().slice(5, 2)
    source = Source("in", (), schema_of({"key": "symbol"}))
    block = fitted(pa.RecordBatch.from_arrays([words], names=["key"]), source, DeadLetters())
    assert seal(block).size < 2_000
    assert block.to_arrow().column(0).to_pylist() == ["word 5", "word 6"]


def test_other_columns_are_refused_as_a_whole() -> None:
    with pytest.raises(InputError, match="its input lacks y"):
        fit({"x": [1]}, {"y": "int64"})
    with pytest.raises(InputError, match="needs 'x' as int64; its input has string"):
        fit({"x": ["1"]}, {"x": "int64"})


def test_an_attribute_that_is_there_twice_is_refused() -> None:
    source = Source("in", (), schema_of({"x": "int64"}))
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(InputError, match="needs each attribute once; its input has x more than once"):
        fitted(twice, source, DeadLetters())
