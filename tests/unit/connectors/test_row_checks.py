"""Rows from outside become blocks; those that do not fit become dead letters, and only those."""

from __future__ import annotations

import json
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


WORDS = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0, 1], pa.int32()), pa.array(["a", "b"], pa.string_view()))
LISTS = pa.array([["a"], None, ["b", None], [], ["c"]], pa.list_(pa.string_view()))
VIEWS = pa.array(["a", None, "b", None, "ä\n"], pa.string_view())


@pytest.mark.parametrize(
    ("word", "texts"),
    [("string", VIEWS), ("symbol", VIEWS), ("list<string>", LISTS), ("string", WORDS), ("symbol", WORDS)],
)
def test_texts_that_are_views_as_polars_gives_them_are_read_and_cost_only_their_row(word: str, texts: pa.Array) -> None:
    """Found by `benchmarks fuzz --only rows`, seed 1, input 2282."""
    given = [{"n": n, "x": text} for n, text in zip([1, 2, -3, 4, 5], texts.to_pylist(), strict=True)]
    columns = {"n": pa.array([row["n"] for row in given]), "x": texts}
    rows, letters = fit(columns, {"n": "uint8", "x": word})
    assert rows == [row for row in given if row["n"] > 0]
    assert [(own["reason"], json.loads(own["row"])) for own in letters] == [("has no uint8 in 'n'", given[2])]
    rows, letters = fit(columns, {"n": "int64", "x": f"{word} not null"})
    assert rows == [row for row in given if row["x"] is not None]
    assert [json.loads(own["row"]) for own in letters] == [row for row in given if row["x"] is None]


def test_an_attribute_that_the_schema_leaves_out_may_be_of_any_type() -> None:
    unused = pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"])
    rows, letters = fit({"n": pa.array([1, -2, 3]), "unused": unused}, {"n": "uint8"})
    assert rows == [{"n": 1}, {"n": 3}]
    assert [own["row"] for own in letters] == ['{"n": -2}']


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
