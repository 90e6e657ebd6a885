"""Arrow messages as columns: whatever a message is, it costs only itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from penstock.block.dead_letters import DeadLetters
from penstock.block.schema import SYMBOL
from penstock.connectors.planned.decoding import decode
from penstock.connectors.planned.source_port import Reading
from penstock.connectors.row_checks import coded, fitted

SCHEMA = pa.schema({"n": pa.int64(), "word": SYMBOL, "x": pa.float64()})


def message(columns: Mapping[str, Any], batches: int = 1) -> bytes:
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for _ in range(batches):
            writer.write_table(table)
    return bytes(sink.getvalue())


def good(*numbers: int, batches: int = 1) -> bytes:
    columns = {"n": list(numbers), "word": [f"w{n}" for n in numbers], "x": [n / 2 for n in numbers]}
    return message(columns, batches)


def read(
    values: list[bytes | None], unused: frozenset[str] = frozenset(), format_: str = "arrow"
) -> tuple[pa.Table, list[int], list[str]]:
    """The rows, the message of each, and reasons of dead letters by message."""
    reading = Reading(SimpleNamespace(name="numbers", schema=SCHEMA), DeadLetters(), unused)
    table, places = decode(values, format_, None, SCHEMA, reading, lambda place: {"place": place})
    rows = reading.letters.drain().to_pylist()
    return table, list(places), [f"{json.loads(own['row'])['place']}: {own['reason']}" for own in rows]


def test_messages_have_any_number_of_batches_and_tuples() -> None:
    table, places, letters = read([good(1, 2), good(), good(3, batches=2), good(4)])
    assert (table["n"].to_pylist(), places, letters) == ([1, 2, 3, 3, 4], [0, 0, 2, 2, 3], [])
    assert table["word"].to_pylist() == ["w1", "w2", "w3", "w3", "w4"]


@pytest.mark.parametrize("cut", [0, 1, 7, 9, 100, 400, -300, -100, -60, -9])
def test_a_message_that_was_cut_costs_only_itself(cut: int) -> None:
    whole = good(*range(50))
    table, places, letters = read([good(1), whole[:cut], good(2)])
    assert (table["n"].to_pylist(), places) == ([1, 2], [0, 2])
    assert letters[0].startswith("1: has a message that cannot be decoded")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"n": [1], "word": ["a"]}, "it has no attribute 'x'"),
        ({"n": ["1"], "word": ["a"], "x": [0.5]}, "it has 'n' as string, which is no int64"),
        ({"n": [1], "word": [7], "x": [0.5]}, "it has 'word' as int64, which is no symbol"),
    ],
)
def test_a_message_of_other_types_costs_only_itself(columns: Mapping[str, Any], reason: str) -> None:
    table, places, letters = read([good(1), message(columns), None, good(2)])
    assert (table["n"].to_pylist(), places) == ([1, 2], [0, 3])
    assert reason in letters[0]
    assert "it has no value" in letters[1]


@pytest.mark.parametrize(
    "word", [pa.array(["a"]).dictionary_encode(), pa.array(["a"], pa.large_string()), pa.array([None], pa.string())]
)
def test_messages_of_types_of_one_kind_go_together(word: pa.Array) -> None:
    other = message({"x": pa.array([1], pa.int32()), "word": word, "n": pa.array([9], pa.int16())})
    table, _, letters = read([good(1), other, good(2)])
    assert (table["n"].to_pylist(), table["x"].to_pylist(), letters) == ([1, 9, 2], [0.5, 1.0, 1.0], [])
    assert table["word"].to_pylist() == ["w1", word.to_pylist()[0], "w2"]


def test_attributes_that_nobody_reads_are_zeros_where_all_rows_fit() -> None:
    table, _, _ = read([good(1, 2)], frozenset({"n", "word"}))
    assert table.select(SCHEMA.names).to_pylist() == [{"n": 0, "word": "", "x": 0.5}, {"n": 0, "word": "", "x": 1.0}]
    whole = message({"n": [3.5], "word": ["a"], "x": [0.5]})  # 3.5 is no int64: its dead letter has all attributes
    table, _, _ = read([whole], frozenset({"x"}))
    assert table["x"].to_pylist() == [0.5]


def test_texts_become_codes_in_the_order_in_which_words_come() -> None:
    texts = pa.array(["b", "a", "", "b", "a longer word than a tag", "ä", "a"])
    for array in (texts, texts.slice(1, 4), texts.slice(0, 0), pa.array(["a", None])):
        found = coded(array, SYMBOL)
        assert found.to_pylist() == array.to_pylist()
    assert coded(texts, SYMBOL).dictionary.to_pylist() == texts.dictionary_encode().dictionary.to_pylist()
    assert coded(texts, pa.string()) is texts


def test_rows_of_texts_fit_as_they_did() -> None:
    words = [f"w{n % 700}" for n in range(5_000)]
    batch = pa.record_batch({"n": list(range(5_000)), "word": words, "x": [0.0] * 5_000})
    block = fitted(batch, SimpleNamespace(name="numbers", schema=SCHEMA), DeadLetters())
    assert block.column("word").to_arrow().to_pylist() == words


def test_json_has_one_kind_of_number() -> None:
    texts = ["7.0", "1e3", "-0.0", "9007199254740993", "7.5", "1e300", '"7.0"', "8"]
    values = [f'{{"n": {text}, "word": "a", "x": {number}}}'.encode() for number, text in enumerate(texts)]
    table, places, letters = read([*values, b"{7.0", b"[7.0]"], format_="json")
    assert table["n"].to_pylist() == [7, 1000, 0, 9007199254740993, 8]
    assert (table["x"].to_pylist(), places) == ([0.0, 1.0, 2.0, 3.0, 7.0], [0, 1, 2, 3, 7])
    assert [letter.split(":")[0] for letter in letters] == ["4", "5", "6", "8", "9"]
